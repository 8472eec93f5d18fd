/** Many who ask at once, slow ones, silent ones, those that go away: everybody else is answered. */

import t, { type Test } from 'tap';
import { answers, ask, asText, bare, locatedOf, openWorld, type World } from './world.ts';

const question = 'GET /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: gate\r\n\r\n';
const path = '/v1/check?owner=alice&subject=size:all';

/** The next `count` lookups hang; `released` lets them go. */
function hangingLookups(world: World) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  world.told.locate = async unitPath => {
    begun.resolve();
    await promise;
    return locatedOf('alice')(unitPath);
  };
  return { begun: begun.promise, release: resolve };
}

async function stillAnswers(t: Test, world: World): Promise<void> {
  t.equal((await ask(world.sockets.gate, path)).status, 200);
  t.strictSame(world.told.unforeseen, []);
}

t.test('thousands of pipelined questions on 16 kept connections are all answered, in order', async t => {
  const world = await openWorld(t);
  const each = 500;
  const ordered = Array.from({ length: each }, (_, n) => question.replace('alice', `owner-${n}`));
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      const { socket, until } = await bare(t, world.sockets.gate);
      socket.write(ordered.join(''));
      const received = await until(all => all.split('"warning":null}').length > each);
      const owners = [...received.matchAll(/"owner":"owner-(\d+)"/g)].map(match => Number(match[1]));
      t.ok(owners.length === each && owners.every((owner, n) => owner === n));
    }),
  );
  await stillAnswers(t, world);
});

t.test('500 who ask at once, each on a connection of its own, are all answered', async t => {
  const world = await openWorld(t);
  const all = await Promise.all(Array.from({ length: 500 }, () => ask(world.sockets.gate, path, asText)));
  t.equal(
    all.filter(({ status, headers }) => status === 200 && headers['x-softquota-decision'] === 'allowed')
      .length,
    500,
  );
});

t.test('where there are too many connections, the one that was silent for longest makes room', async t => {
  const world = await openWorld(t, {}, { mostConnections: 8 });
  const silent = await Promise.all(Array.from({ length: 8 }, () => bare(t, world.sockets.gate)));
  const [first, second] = silent;
  first?.socket.write(question);
  await first?.until(all => answers(all, 200) === 1);
  await stillAnswers(t, world);
  t.equal(await second?.ended, '');
  t.equal(first?.socket.readyState, 'open', 'who asked lately is not the one');
  for (let n = 0; n < 50; n++) await bare(t, world.sockets.gate);
  await stillAnswers(t, world);
});

t.test('who has to make room for one that comes behind the question is answered before', async t => {
  const world = await openWorld(t, {}, { mostConnections: 1 });
  const { socket, until, ended } = await bare(t, world.sockets.gate);
  socket.write(question);
  await until(all => answers(all, 200) === 1);
  socket.write(question);
  // Both are there when the gate looks: the question first.
  await bare(t, world.sockets.gate);
  t.equal(answers(await ended, 200), 2);
});

t.test('who asks and is done speaking at once is answered', async t => {
  const world = await openWorld(t);
  // The text is as long as one read: the end comes in the same turn.
  const count = Math.floor(65_536 / question.length);
  const longer = question.replace('alice', `alice${'0'.repeat(65_536 % question.length)}`);
  const whole = longer + question.repeat(count - 1);
  for (const text of [question, question.repeat(3), whole]) {
    const { socket, ended } = await bare(t, world.sockets.gate);
    socket.end(text);
    t.equal(answers(await ended, 200), text.split('GET ').length - 1);
  }
  await stillAnswers(t, world);
});

t.test('a connection with a question under way does not make room', async t => {
  const world = await openWorld(t, {}, { mostConnections: 3 });
  const lookups = hangingLookups(world);
  const under = [
    await bare(t, world.sockets.gate),
    await bare(t, world.sockets.gate),
    await bare(t, world.sockets.gate),
  ];
  for (const { socket } of under) socket.write('GET /v1/check?path=/srv/x HTTP/1.1\r\nHost: gate\r\n\r\n');
  await lookups.begun;
  // The gate reads connections one after the other: the last is read once a later one is refused.
  const one = await bare(t, world.sockets.gate);
  await one.ended;
  lookups.release();
  for (const { until } of under) t.match(await until(all => answers(all, 200) === 1), /"owner":"alice"/);
});

t.test('a header that comes too slowly, or never, ends the connection', async t => {
  const world = await openWorld(t, {}, { headersMs: 200, requestMs: 300 });
  const slow = await bare(t, world.sockets.gate);
  slow.socket.write('GET /v1/check?owner=alice HTTP/1.1\r\nHos');
  const silent = await bare(t, world.sockets.gate);
  const body = await bare(t, world.sockets.gate);
  body.socket.write('POST /v1/check HTTP/1.1\r\nHost: gate\r\nContent-Length: 100\r\n\r\nowner');
  for (const { ended } of [slow, silent, body]) t.match(await ended, /^(HTTP\/1\.1 408 |$)/);
  await stillAnswers(t, world);
});

t.test('a kept connection is ended when nothing comes for long', async t => {
  const world = await openWorld(t, {}, { idleMs: 100 });
  const { socket, until, ended } = await bare(t, world.sockets.gate);
  socket.write(question);
  await until(all => answers(all, 200) === 1);
  await ended;
  await stillAnswers(t, world);
});

t.test('who never reads the answers is not served for ever', async t => {
  const world = await openWorld(t, {}, { idleMs: 300, headersMs: 60_000, requestMs: 60_000 });
  const { socket } = await bare(t, world.sockets.gate);
  socket.pause();
  const closed = new Promise(resolve => socket.once('close', resolve));
  for (let n = 0; n < 200; n++) socket.write(question.repeat(100));
  await stillAnswers(t, world);
  await closed;
  await stillAnswers(t, world);
});

t.test('answers that nobody reads do not pile up', async t => {
  const world = await openWorld(t, {}, { idleMs: 300, headersMs: 60_000, requestMs: 60_000 });
  world.walk('/srv/git/alice/app.git', 'alice', 1);
  const { socket } = await bare(t, world.sockets.gate);
  socket.pause();
  const closed = new Promise(resolve => socket.once('close', resolve));
  const asked = 20_000;
  // The length is a power of two: one read ends where a request ends.
  const [before, behind] = [
    'GET /v1/check?path=/srv/git/alice/app.git&x=',
    ' HTTP/1.1\r\nHost: gate\r\n\r\n',
  ];
  socket.write((before + 'x'.repeat(128 - before.length - behind.length) + behind).repeat(asked));
  await closed;
  t.ok(world.told.letThrough.length > 0);
  t.ok(world.told.letThrough.length < asked / 4, `${world.told.letThrough.length} were answered`);
});

t.test('what was asked before a fault is answered before it', async t => {
  const world = await openWorld(t);
  const lookups = hangingLookups(world);
  const lookup = 'GET /v1/check?path=/srv/x HTTP/1.1\r\nHost: gate\r\n\r\n';
  for (const asked of [question.repeat(3), question + lookup + question]) {
    const { socket, ended } = await bare(t, world.sockets.gate);
    socket.write(`${asked}no HTTP\r\n\r\n`);
    if (asked.includes(lookup)) {
      await lookups.begun;
      lookups.release();
    }
    const statuses = [...(await ended).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    t.strictSame(statuses, ['200', '200', '200', '400']);
  }
});

t.test('a header over the bound is 431, what is no HTTP is 400, and neither is a decision', async t => {
  const world = await openWorld(t);
  const goodbye = async (sent: string) => {
    const { socket, ended } = await bare(t, world.sockets.gate);
    socket.write(sent);
    return (await ended).slice(9, 12);
  };
  t.equal(await goodbye(`GET /v1/check?owner=${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`), '431');
  t.equal(await goodbye(`GET / HTTP/1.1\r\nA: ${'x'.repeat(70_000)}\r\n\r\n`), '431');
  t.equal(await goodbye('\u0016\u0003\u0001\r\n\r\n'), '400');
  t.equal(await goodbye('POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'), '400');
  const extension = `POST /v1/check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(40_000)}`;
  t.equal(await goodbye(extension), '400', '413 is a refusal and nothing else');
  await stillAnswers(t, world);
});

t.test('a body that is far too long is read to its end, then the answer comes', async t => {
  const world = await openWorld(t);
  const { socket, until } = await bare(t, world.sockets.gate);
  socket.write(`POST /v1/check HTTP/1.1\r\nHost: gate\r\nContent-Length: 3000000\r\n\r\n`);
  socket.write('x'.repeat(3_000_000));
  socket.write(question);
  const received = await until(all => answers(all, 200) === 1);
  t.equal(answers(received, 400), 1);
  t.match(received, /too_large.*HTTP\/1\.1 200 /s);
});

t.test('a client that is done speaking still gets its answer', async t => {
  const world = await openWorld(t);
  const lookups = hangingLookups(world);
  const patient = await bare(t, world.sockets.gate);
  patient.socket.end('GET /v1/check?path=/srv/x HTTP/1.1\r\nHost: gate\r\n\r\n');
  await lookups.begun;
  await stillAnswers(t, world);
  lookups.release();
  t.equal(answers(await patient.ended, 200), 1);
});

t.test('clients that go away in the middle harm nobody', async t => {
  const world = await openWorld(t);
  const lookups = hangingLookups(world);
  for (const sent of [
    'GET /v1/check?path=/srv/x HTTP/1.1\r\nHost: gate\r\n\r\n',
    'POST /v1/check HTTP/1.1\r\nHost: gate\r\nContent-Length: 100\r\n\r\nowner',
    'POST /v1/check HTTP/1.1\r\nHost: gate\r\nTransfer-Encoding: chunked\r\n\r\n5\r\now',
    'GET /v1/check?owner=ali',
    question.repeat(2000),
  ]) {
    const { socket } = await bare(t, world.sockets.gate);
    await new Promise(resolve => socket.write(sent, resolve));
    socket.destroy();
    await stillAnswers(t, world);
  }
  lookups.release();
  await stillAnswers(t, world);
});

t.test('closing answers what is under way, takes nothing new, and ends kept connections', async t => {
  const world = await openWorld(t);
  const lookups = hangingLookups(world);
  const under = await bare(t, world.sockets.gate);
  under.socket.write('GET /v1/check?path=/srv/x HTTP/1.1\r\nHost: gate\r\n\r\n');
  const kept = await bare(t, world.sockets.gate);
  kept.socket.write(question);
  await kept.until(all => answers(all, 200) === 1);
  await lookups.begun;
  const closed = world.gate.close();
  await kept.ended;
  await t.rejects(ask(world.sockets.gate, path), { code: 'ENOENT' });
  lookups.release();
  t.equal(answers(await under.ended, 200), 1);
  await closed;
});

t.test('closing waits for nobody for ever', async t => {
  const world = await openWorld(t, {}, { drainMs: 100 });
  const lookups = hangingLookups(world);
  const under = await bare(t, world.sockets.gate);
  under.socket.write('GET /v1/check?path=/srv/x HTTP/1.1\r\nHost: gate\r\n\r\n');
  const silent = await bare(t, world.sockets.gate);
  await lookups.begun;
  await world.gate.close();
  t.equal(await under.ended, '');
  await silent.ended;
  lookups.release();
  t.strictSame(world.told.unforeseen, []);
});

t.test('long bodies wait for each other, whatever they ask, and short ones for nobody', async t => {
  const world = await openWorld(t);
  const head = (address: string, bytes: number) =>
    `POST ${address} HTTP/1.1\r\nHost: gate\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
    `Content-Length: ${bytes}\r\n\r\n`;
  for (const address of ['/v1/check', '/v1/push', '/v1/lfs/a/b/info/lfs/objects/batch']) {
    const isAnswered = (all: string) => /^HTTP\/1\.1 (200|400|404|413) /.test(all);
    const held = await Promise.all(Array.from({ length: 64 }, () => bare(t, world.sockets.gate)));
    for (const { socket } of held) socket.write(`${head(address, 100_000)}owner`);
    await stillAnswers(t, world);
    const long = await bare(t, world.sockets.gate);
    const body = 'owner=alice&subject=size:all&x='.padEnd(100_000, 'x');
    long.socket.write(head(address, body.length) + body);
    const short = await bare(t, world.sockets.gate);
    short.socket.write(head(address, 28) + body.slice(0, 28));
    await short.until(isAnswered);
    for (let times = 0; times < 20; times++) await stillAnswers(t, world);
    t.equal(long.received(), '', address);
    held[0]?.socket.destroy();
    await long.until(isAnswered);
    for (const { socket } of held) socket.destroy();
  }
});
