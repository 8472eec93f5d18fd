/** Programs that report their units in whole sets, at the trusted socket. */

import t, { type Test } from 'tap';
import { type Answer, type Asked, answers, asText, type Bare, bare, openWorld, type World } from './world.ts';

const packages = 'size:assets:packages:all';

interface Line {
  readonly owner: string;
  readonly unit: string;
  readonly bytes: unknown;
  readonly subject?: string;
}

function lines(units: readonly Line[]): string {
  return units.map(unit => `${JSON.stringify({ subject: packages, ...unit })}\n`).join('');
}

const set = (body: string): Asked => ({ method: 'PUT', body });

const parsed = ({ status, text }: Answer) => ({ status, json: JSON.parse(text) });

function usedBy(world: World, owner: string): number {
  return world.ledger.ownerUsage(owner).usage.reduce((sum, bytes) => sum + bytes, 0);
}

t.test('a set takes the place of all that the source ever reported', async t => {
  const world = await openWorld(t);
  const { askTrusted, ledger } = world;
  const first = lines([
    { owner: 'alice', unit: 'npm/left-pad', bytes: 10 },
    { owner: 'Alice', unit: 'npm/right-pad', bytes: 5 },
    { owner: 'bob', unit: 'npm/left-pad', bytes: 7 },
  ]);
  t.strictSame(parsed(await askTrusted('/v1/sources/registry?stale_after=600', set(first))), {
    status: 200,
    json: { units: 3, owners: 2 },
  });
  t.strictSame([usedBy(world, 'alice'), usedBy(world, 'bob')], [15, 7]);
  const second = lines([
    { owner: 'alice', unit: 'npm/left-pad', bytes: 11 },
    { owner: 'carol', unit: 'x', bytes: 1, subject: 'size:git:lfs' },
  ]);
  t.strictSame(parsed(await askTrusted('/v1/sources/registry', set(second))).json, { units: 2, owners: 2 });
  t.strictSame(
    ['alice', 'bob', 'carol'].map(owner => usedBy(world, owner)),
    [11, 0, 1],
  );
  t.match(await ledger.shares.unitsOf('alice', { most: 9 }), [
    { name: 'npm/left-pad', kind: 'reported', source: 'registry', bytes: 11 },
  ]);
  t.equal(ledger.units.unitCountOf('alice'), 1);
});

t.test('sources, and what is reported one by one, have units of their own', async t => {
  const world = await openWorld(t);
  const { askTrusted } = world;
  const unit = { owner: 'alice', unit: 'the same', bytes: 100 };
  await askTrusted('/v1/sources/one', set(lines([unit])));
  await askTrusted('/v1/sources/two', set(lines([{ ...unit, bytes: 20 }])));
  await askTrusted(
    `/v1/units?owner=alice&subject=${packages}&unit=${encodeURIComponent('the same')}&bytes=3`,
    { method: 'POST' },
  );
  t.equal(usedBy(world, 'alice'), 123);
  t.equal((await askTrusted('/v1/sources/one', set(''))).status, 200);
  t.equal(usedBy(world, 'alice'), 23);
  t.equal((await askTrusted('/v1/sources/two', { method: 'DELETE' })).status, 204);
  t.equal(usedBy(world, 'alice'), 3);
  t.equal((await askTrusted('/v1/sources/two', { method: 'DELETE' })).status, 404);
});

t.test('the list tells of each source how much it reported, when, and whether that is stale', async t => {
  const { askTrusted } = await openWorld(t);
  t.strictSame(parsed(await askTrusted('/v1/sources')).json, { sources: [] });
  const name = encodeURIComponent('a/b ü');
  await askTrusted(`/v1/sources/${name}?stale_after=60`, set(lines([{ owner: 'a', unit: 'u', bytes: 5 }])));
  await askTrusted('/v1/sources/empty', set(''));
  const { json } = parsed(await askTrusted('/v1/sources'));
  t.match(json, {
    sources: [
      { name: 'a/b ü', units: 1, owners: 1, bytes: 5, reported_at: /Z$/, stale_after: 60, stale: false },
      { name: 'empty', units: 0, owners: 0, bytes: 0, stale_after: 86_400, stale: false },
    ],
  });
  t.match((await askTrusted('/v1/sources', asText)).text, /^a\/b ü: 1 unit of 1 owner, 5 B, reported at /);
  t.strictSame(parsed(await askTrusted(`/v1/sources/${name}`)).json, json.sources[0]);
  t.equal((await askTrusted('/v1/sources/none')).status, 404);
});

t.test('a faulty line refuses the whole set, and says which line and what is expected', async t => {
  const world = await openWorld(t);
  const { askTrusted } = world;
  await askTrusted('/v1/sources/s', set(lines([{ owner: 'alice', unit: 'u', bytes: 1 }])));
  const good = lines([{ owner: 'bob', unit: 'u', bytes: 5 }]);
  const unit = { owner: 'bob', unit: 'v', bytes: 1 };
  for (const [faulty, why] of [
    ['{"owner"', /^line 2: it is no JSON, where \{"owner": a name/],
    ['[]', /^line 2: it is no JSON object/],
    ['null', /^line 2: it is no JSON object/],
    [lines([{ ...unit, owner: '..' }]), /^line 2: owner is "\.\.", which is no name/],
    [lines([{ ...unit, owner: 'a\u0007' }]), /^line 2: owner is "a\\u\{7\}", which is no name/],
    ['{"subject": "size:git:lfs", "unit": "u", "bytes": 1}', /^line 2: owner is missing, where a name/],
    [
      lines([{ ...unit, subject: 'size:all' }]),
      /^line 2: subject is "size:all", where a leaf is expected: size:repos/,
    ],
    [lines([{ ...unit, bytes: -1 }]), /^line 2: bytes is -1, where a whole number from 0 to 2\^53 - 1/],
    [lines([{ ...unit, bytes: 1.5 }]), /^line 2: bytes is 1\.5/],
    [lines([{ ...unit, bytes: '1' }]), /^line 2: bytes is "1"/],
    [lines([{ ...unit, bytes: 2 ** 53 }]), /^line 2: bytes is 9007199254740992/],
    [
      '{"owner": "a", "subject": "size:git:lfs", "unit": "u", "bytes": 1, "size": 2}',
      /^line 2: "size" is no field/,
    ],
    [good, /^line 2: u of bob \(size:assets:packages:all\) stands in an earlier line/],
    [`\n\n${good}`, /^line 4: u of bob/],
    [lines([{ owner: 'BOB', unit: 'u', bytes: 5 }]), /^line 2: u of bob .* stands in an earlier line/],
    [`"${'x'.repeat(20_000)}"`, /^line 2: it has more than 16384 bytes/],
  ] as const) {
    const { status, text } = await askTrusted('/v1/sources/s', set(`${good}${faulty}`));
    t.equal(status, 400, String(why));
    t.match(JSON.parse(text), { code: 'bad_parameter', message: why });
  }
  const latin1 = Buffer.concat([Buffer.from('{"owner": "'), Buffer.of(0xfc), Buffer.from('"}\n')]);
  t.match(
    (await askTrusted('/v1/sources/s', { method: 'PUT', body: latin1 })).text,
    /line 1: it is not UTF-8/,
  );
  t.strictSame([usedBy(world, 'alice'), usedBy(world, 'bob')], [1, 0], 'nothing was changed');
  t.strictSame(
    [...world.ledger.owners()].map(({ name }) => name),
    ['alice'],
    'and nobody was met',
  );
});

t.test('what would pass 2^53 - 1 bytes is refused whole', async t => {
  const world = await openWorld(t);
  const { askTrusted, walk } = world;
  const most = Number.MAX_SAFE_INTEGER;
  const both = lines([
    { owner: 'alice', unit: 'u', bytes: most },
    { owner: 'alice', unit: 'v', bytes: 1 },
  ]);
  t.match(parsed(await askTrusted('/v1/sources/s', set(both))), {
    status: 422,
    json: { code: 'sum_too_large', message: /alice/ },
  });
  walk('/srv/git/alice/app.git', 'alice', most);
  const more = lines([{ owner: 'alice', unit: 'u', bytes: 1 }]);
  t.equal((await askTrusted('/v1/sources/s', set(more))).status, 422);
  t.equal((await askTrusted('/v1/sources/s', { method: 'GET' })).status, 404);
  t.equal(usedBy(world, 'alice'), most);
});

t.test('a body that breaks off changes nothing', async t => {
  const world = await openWorld(t);
  await world.askTrusted('/v1/sources/s', set(lines([{ owner: 'alice', unit: 'u', bytes: 1 }])));
  const { socket } = await begun(t, world, 1_000_000);
  socket.write(lines([{ owner: 'bob', unit: 'u', bytes: 5 }]));
  socket.destroy();
  await untilFree(world);
  t.strictSame([usedBy(world, 'alice'), usedBy(world, 'bob')], [1, 0]);
  t.strictSame(world.told.unforeseen, [], 'and is nobody’s mistake');
});

t.test('a second set of a source that comes while one is under way is a conflict', async t => {
  const world = await openWorld(t);
  const body = lines([{ owner: 'alice', unit: 'u', bytes: 5 }]);
  const { socket, until } = await begun(t, world, body.length);
  t.match(parsed(await world.askTrusted('/v1/sources/s', { method: 'DELETE' })), {
    status: 409,
    json: { code: 'conflict', message: /^s is being changed since / },
  });
  t.equal((await world.askTrusted('/v1/sources/other', set(body))).status, 200, 'others are taken meanwhile');
  socket.write(body);
  await until(received => answers(received, 200) === 1);
  t.equal(usedBy(world, 'alice'), 10);
});

t.test('a set may take its time as long as it goes on coming, other bodies may not', async t => {
  const world = await openWorld(t, {}, { requestMs: 300, headersMs: 300, idleMs: 1000 });
  const slow = await bare(t, world.sockets.trusted);
  const other = await bare(t, world.sockets.trusted);
  const body = lines([1, 2, 3].map(number => ({ owner: 'alice', unit: `u${number}`, bytes: 5 })));
  const head = (first: string) => `${first} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
  slow.socket.write(head('PUT /v1/sources/s'));
  other.socket.write(head('POST /v1/units'));
  // Each piece comes after the other body has run out of its time once more.
  t.match(await other.ended, /^HTTP\/1\.1 408 /);
  for (const piece of body.match(/[\s\S]{1,100}/g) ?? []) {
    slow.socket.write(piece);
    const overdue = await bare(t, world.sockets.trusted);
    overdue.socket.write(head('POST /v1/units'));
    t.match(await overdue.ended, /^HTTP\/1\.1 408 /);
  }
  await slow.until(received => answers(received, 200) === 1);
  t.equal(usedBy(world, 'alice'), 15);
  const silent = await bare(t, world.sockets.trusted);
  silent.socket.write(head('PUT /v1/sources/s'));
  await silent.ended;
  await untilFree(world);
  t.equal(usedBy(world, 'alice'), 15, 'one that stops coming is given up');
});

t.test('only the trusted socket takes sets', async t => {
  const { ask, askTrusted } = await openWorld(t);
  t.equal((await ask('/v1/sources/s', set(''))).status, 403);
  t.equal((await ask('/v1/sources')).status, 403);
  t.match(await askTrusted('/v1/sources/s', { method: 'POST', body: 'x' }), {
    status: 405,
    headers: { allow: 'GET, HEAD, PUT, DELETE' },
  });
  t.match(await askTrusted('/v1/sources', { method: 'POST' }), {
    status: 405,
    headers: { allow: 'GET, HEAD' },
  });
  for (const stale of ['0', '-1', 'soon', '1.5', '99999999999']) {
    t.match(parsed(await askTrusted(`/v1/sources/s?stale_after=${stale}`, set(''))), {
      status: 400,
      json: { message: /^stale_after is .* from 1 to 31622400 is expected/ },
    });
  }
  for (const name of ['%ff', '', '..', '%00', 'x'.repeat(256)]) {
    t.equal((await askTrusted(`/v1/sources/${name}`, set(''))).status, 400, name);
  }
});

/** Tells whether a set of the source `s` is under way; changes nothing. */
async function isBusy({ askTrusted }: World): Promise<boolean> {
  return (await askTrusted('/v1/sources/s', set('no unit'))).status === 409;
}

/** A connection on which a set of the source `s` is under way. */
async function begun(t: Test, world: World, length: number): Promise<Bare> {
  const connection = await bare(t, world.sockets.trusted);
  const head = ['PUT /v1/sources/s HTTP/1.1', 'Host: x', `Content-Length: ${length}`, 'Expect: 100-continue'];
  connection.socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await connection.until(received => answers(received, 100) === 1);
  return connection;
}

async function untilFree(world: World): Promise<void> {
  while (await isBusy(world));
}
