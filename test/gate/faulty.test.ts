/** Requests that cannot be taken: 400 or its like, which and why, never a decision. */

import t from 'tap';
import { asText, form, json, openWorld } from './world.ts';

const good = 'owner=alice&subject=size:all';

t.test('each faulty parameter is named, with what is expected', async t => {
  const { ask } = await openWorld(t);
  const faults: Readonly<Record<string, RegExp>> = {
    '': /owner is missing/,
    'owner=alice': /subject is missing/,
    'owner=&subject=size:all': /owner is missing/,
    'subject=size:all': /owner is missing/,
    'owner=alice&subject=none': /subject is "none", where one of these is expected: size:all, /,
    'owner=alice&subject=size:rubbish': /subject is "size:rubbish"/,
    'owner=.&subject=size:all': /owner is "\.", which is no name/,
    'owner=%20&subject=size:all': /it has only spaces/,
    'owner=a%00b&subject=size:all': /control characters/,
    'owner=%ff&subject=size:all': /not well-formed Unicode/,
    [`owner=${'x'.repeat(256)}&subject=size:all`]:
      /owner is "x{80}\.{3}", which is no name: it is longer than 255/,
    [`${good}&actor=%1b[2J`]: /actor is "\\u\{1b\}\[2J", which is no name/,
    [`${good}&owner=bob`]: /owner is given more than once/,
    [`${good}&x%1b=1&x%1b=1`]: /x\\u\{1b\} is given more than once/,
    [`${good}&size=%`]: /"%" is not followed by two hexadecimal digits/,
    [`${good}&size=%zz`]: /"%" is not followed by two hexadecimal digits/,
    'path=relative': /path is "relative", where an absolute path is expected/,
    'path=/a%00b': /path holds a NUL/,
    [`path=/${'x'.repeat(4095)}`]: /path has more than 4095 bytes/,
  };
  for (const [query, why] of Object.entries(faults)) {
    const { status, headers, text } = await ask(`/v1/check?${query}`);
    t.match([status, headers['x-softquota-decision']], [400, undefined], query);
    t.match(JSON.parse(text), { code: 'bad_parameter', message: why });
  }
});

t.test('a size is a whole number of bytes, and nothing else', async t => {
  const { ask } = await openWorld(t);
  const status = async (size: string) => (await ask(`/v1/check?${good}&size=${size}`)).status;
  for (const size of ['0', '1', '007', '9007199254740991']) t.equal(await status(size), 200, size);
  for (const size of [
    '-1',
    '%2B1',
    '+1',
    '1.0',
    '1e3',
    '0x10',
    '10M',
    '9007199254740992',
    '9007199254740993',
    'NaN',
  ]) {
    t.equal(await status(size), 400, size);
  }
  const body = (size: string) => json(`{"owner": "alice", "subject": "size:all", "size": ${size}}`);
  t.equal((await ask('/v1/check', body('12'))).status, 200);
  for (const size of ['1e3', '1.5', '9007199254740993', 'true', '[1]', '{}']) {
    t.equal((await ask('/v1/check', body(size))).status, 400, size);
  }
  t.equal((await ask('/v1/check', body('null'))).status, 200, 'null is as good as missing');
});

t.test('a body that is not what it says is refused', async t => {
  const { ask } = await openWorld(t);
  const why = async (asked: Parameters<typeof ask>[1]) => {
    const { status, text } = await ask(`/v1/check?${good}`, asked);
    t.equal(status, 400);
    return JSON.parse(text).message;
  };
  t.match(await why(json('{"owner": ')), /the body is not JSON/);
  t.match(await why(json('[1]')), /not a JSON object/);
  t.match(await why(json('"alice"')), /not a JSON object/);
  t.match(await why(json('null')), /not a JSON object/);
  t.match(await why(json('['.repeat(30_000))), /the body is not JSON/);
  t.match(await why({ ...json(''), body: Buffer.from('{"owner":"\xff"}', 'latin1') }), /not UTF-8/);
  t.match(await why({ ...form({}), body: 'owner=a&owner=b' }), /owner is given more than once/);
  t.match(await why({ method: 'POST', body: 'owner=alice' }), /Content-Type is ""/);
  const odd = { 'Content-Type': 'text/\u009b31m\u00ad' };
  const told = await why({ method: 'POST', headers: odd, body: 'x' });
  t.match(told, /Content-Type is "text\/.?\\u\{9b\}31m.?\\u\{ad\}", where/);
});

t.test('more than a hundred parameters are refused, however they come', async t => {
  const { ask } = await openWorld(t);
  const names = (count: number) => Array.from({ length: count - 2 }, (_, n) => [`x${n}`, '1'] as const);
  const asked = (count: number): readonly Parameters<typeof ask>[] => [
    [`/v1/check?${good}&${new URLSearchParams(Object.fromEntries(names(count)))}`],
    ['/v1/check', json({ owner: 'alice', subject: 'size:all', ...Object.fromEntries(names(count)) })],
    ['/v1/check', form({ owner: 'alice', subject: 'size:all', ...Object.fromEntries(names(count)) })],
  ];
  for (const each of asked(100)) t.equal((await ask(...each)).status, 200);
  for (const each of asked(101)) {
    const { status, text } = await ask(...each);
    t.match([status, JSON.parse(text).message], [400, 'there are more than 100 parameters']);
  }
});

t.test(
  'a body over its bound is 400 too_large, whoever sends it how, and the connection goes on',
  async t => {
    const { ask, told } = await openWorld(t);
    const padding = (bytes: number) => ({
      ...form({}),
      body: `${good}&x=${'x'.repeat(bytes - good.length - 3)}`,
    });
    t.equal((await ask('/v1/check', padding(1_048_576))).status, 200);
    t.not(JSON.parse((await ask('/v1/reservations', padding(65_536))).text).code, 'too_large');
    for (const [address, bytes] of [
      ['/v1/check', 1_048_577],
      ['/v1/reservations', 65_537],
      ['/v1/reservations', 10_000_000],
    ] as const) {
      for (const headers of [{ 'Transfer-Encoding': 'chunked' }, { 'Content-Length': String(bytes) }]) {
        const asked = padding(bytes);
        const {
          status,
          text,
          headers: got,
        } = await ask(address, { ...asked, headers: { ...asked.headers, ...headers } });
        t.equal(status, 400);
        t.match(JSON.parse(text), { code: 'too_large' });
        t.equal(got.connection, 'keep-alive');
      }
    }
    t.equal((await ask('/v1/nothing', padding(10_000_000))).status, 400, 'whatever it was for');
    t.strictSame(told.unforeseen, []);
  },
);

t.test('no control or reading-direction character of a name reaches a terminal', async t => {
  const { ask, askTrusted, walk, told } = await openWorld(t, { totalBytes: 0 });
  const evil = 'a\u202eb\u200dc';
  walk('/srv/git/\u001b[31m\u009b\u202e.git', 'alice\u001b[2J\u2066', 5);
  walk('/srv/git/nobody\u001b.git', null, 5);
  const name = encodeURIComponent(evil);
  const path = encodeURIComponent('/srv/git/\u001b[31m\u009b\u202e.git');
  const nobody = encodeURIComponent('/srv/git/nobody\u001b.git');
  const all = [
    await ask(`/v1/check?owner=${name}&subject=size:all`, asText),
    await ask(`/v1/check?path=${path}`, asText),
    await ask(`/v1/check?path=${nobody}`, asText),
    await ask('/v1/check?path=/nowhere%1b', asText),
    await ask(`/v1/check?owner=${name}&subject=%1b%c2%9b`, asText),
    await ask(`/v1/changed?path=${path}`, { ...asText, method: 'POST' }),
    await ask(`/v1/${name}`, asText),
  ];
  for (const { text } of all) {
    t.ok(text.length > 0);
    t.notMatch(
      text,
      /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069]/,
      JSON.stringify(text),
    );
  }
  t.equal((await askTrusted(`/v1/usage?owner=${name}`)).status, 200);
  t.strictSame(told.unforeseen, []);
});

t.test('unknown addresses are 404, and what only trusted programs may say is 403 on the gate', async t => {
  const { ask, askTrusted, ledger } = await openWorld(t);
  for (const path of ['/', '/v1', '/v1/check/', '/V1/check', '//v1/check', '/v1/forward-auth/', '*']) {
    t.match(
      await ask(`${path}?${good}`),
      { status: 404, headers: { 'x-softquota-decision': undefined } },
      path,
    );
  }
  const unit = { owner: 'alice', subject: 'size:git:lfs', unit: 'x', bytes: '5' };
  const delta = { owner: 'alice', subject: 'size:git:lfs', delta: '5' };
  t.match(JSON.parse((await ask('/v1/units', form(unit))).text), { code: 'not_trusted' });
  t.equal((await ask('/v1/units', form(unit))).status, 403);
  t.equal((await ask('/v1/changed', form(delta))).status, 403);
  t.equal((await ask('/v1/usage?owner=alice')).status, 403);
  t.equal((await ask('/v1/claims', form({ user: 'alice', source: 'company' }))).status, 403);
  t.strictSame([...ledger.owners()], []);
  t.equal((await ask('/v1/changed', form({}))).status, 400);
  t.equal((await askTrusted('/v1/changed', form({}))).status, 400);
});
