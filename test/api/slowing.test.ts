/** Too many wrong credentials: who has to wait, and who never has to. */

import t from 'tap';
import { withoutPort } from '../../src/api/asker.ts';
import { type Answer, type Asked, World } from './world.ts';

const wrong = { token: '0'.repeat(40) } as const;
/** Number of wrong tries in a minute that are answered. */
const wrongTries = 20;

async function statusOf(world: World, asked: Asked): Promise<number> {
  return (await world.call('GET', '/user/quota', asked)).status;
}

/** Wrong tokens until one more would be too many. */
async function tryAll(world: World, headers: Asked['headers'] = {}): Promise<void> {
  for (let tried = 0; tried < wrongTries; tried++) {
    await world.must(401, 'GET', '/user/quota', { ...wrong, headers });
  }
}

function isToWait({ status, headers, json }: Answer): boolean {
  const seconds = Number(headers['retry-after']);
  const message = `too many wrong tokens came from your address; try again in ${seconds} s`;
  const isTold = typeof json === 'object' && json !== null && 'message' in json && json.message === message;
  return status === 429 && isTold && Number.isInteger(seconds) && seconds >= 1 && seconds <= 60;
}

t.test('too many wrong tokens from one address are told to wait, and a good one never is', async t => {
  const world = await World.open(t);
  await tryAll(world);
  t.ok(isToWait(await world.call('GET', '/user/quota', wrong)));
  t.equal(await statusOf(world, { as: 'bob' }), 200, 'also one that is new there');
  const atOnce = await Promise.all(
    ['/admin/users', '/admin/users/alice', '/admin/users/missing', '/users/bob/tokens'].map(path =>
      world.call('DELETE', path, wrong),
    ),
  );
  t.ok(atOnce.every(isToWait), 'whatever is asked for');
});

t.test('every kind of wrong credentials counts, and none at all does not', async t => {
  const world = await World.open(t);
  for (let asked = 0; asked < 2 * wrongTries; asked++) t.equal(await statusOf(world, { as: 'nobody' }), 401);
  const kinds = ['', 'nonsense', 'Digest x', 'token', `Bearer ${wrong.token}`, 'Basic !!!', 'token  a b'];
  for (let tried = 0; tried < wrongTries; tried++) {
    const Authorization = kinds[tried % kinds.length] ?? '';
    t.equal(await statusOf(world, { as: 'nobody', headers: { Authorization } }), 401, Authorization);
  }
  t.equal(await statusOf(world, wrong), 429);
  t.equal(await statusOf(world, { as: 'nobody' }), 401, 'who brings nothing guesses nothing');
});

t.test('the admin socket, the gate and what is for everybody have no part in it', async t => {
  const world = await World.open(t);
  await tryAll(world);
  for (let asked = 0; asked < wrongTries + 5; asked++) {
    await world.get('/admin/users', {
      as: 'host',
      headers: { Authorization: 'token wrong' },
    });
  }
  await world.get('/version', { as: 'nobody' });
  await world.get('/version', wrong);
  await world.gate('GET', '/v1/check?owner=alice&subject=size:all');
});

t.test('X-Forwarded-For of somebody who is no trusted proxy is not believed', async t => {
  const world = await World.open(t, { settings: { server: { TRUSTED_PROXIES: '192.0.2.1' } } });
  for (let tried = 0; tried < wrongTries; tried++) {
    const headers = { 'X-Forwarded-For': `198.51.100.${tried}`, Forwarded: `for=198.51.100.${tried}` };
    t.equal(await statusOf(world, { ...wrong, headers }), 401);
  }
  t.equal(await statusOf(world, { ...wrong, headers: { 'X-Forwarded-For': '203.0.113.9' } }), 429);
  t.equal(await statusOf(world, { ...wrong, headers: { 'X-Forwarded-For': '192.0.2.1' } }), 429);
});

t.test('behind trusted proxies each of those who ask is slowed alone, whatever they claim to be', async t => {
  const proxies = '127.0.0.1, 10.0.0.0/8';
  const world = await World.open(t, { settings: { server: { TRUSTED_PROXIES: proxies } } });
  for (let tried = 0; tried < wrongTries; tried++) {
    // Addresses before the one that the proxies saw are the asker's own words.
    const headers = {
      'X-Forwarded-For': `198.51.100.${tried}, 127.0.0.1, 203.0.113.9:${4711 + tried}, 10.1.2.3`,
    };
    t.equal(await statusOf(world, { ...wrong, headers }), 401);
  }
  const from = (address: string, asked: Asked = wrong) =>
    statusOf(world, { ...asked, headers: { 'X-Forwarded-For': address } });
  t.equal(await from('203.0.113.9'), 429);
  t.equal(await from('198.51.100.7, 203.0.113.9'), 429);
  t.equal(await from('198.51.100.7'), 401);
  t.equal(await from('203.0.113.9', { as: 'bob' }), 200);
  t.equal(await from('203.0.113.9', { as: 'nobody' }), 401);
  t.equal(await statusOf(world, wrong), 401, 'the proxy itself');
});

t.test('an address is what stands before the port, and brackets are none of it', async t => {
  const written = {
    '203.0.113.7': '203.0.113.7',
    '203.0.113.7:4711': '203.0.113.7',
    '[2001:db8::1]:443': '2001:db8::1',
    '[2001:db8::1]': '2001:db8::1',
    '2001:db8::1': '2001:db8::1',
    '2001:db8::443': '2001:db8::443',
    '::ffff:203.0.113.7': '::ffff:203.0.113.7',
    '[::ffff:203.0.113.7]:80': '::ffff:203.0.113.7',
    'unknown:80': 'unknown',
    '203.0.113.7:http': '203.0.113.7:http',
    '[::1': '[::1',
    '': '',
  };
  for (const [text, address] of Object.entries(written)) t.equal(withoutPort(text), address, text);
});
