/**
 * The commands that move a quota between one host's own store and a shared one, and that look after that.
 */

import t from 'tap';
import { oddKeys } from '../api/keys.ts';
import { startSingle } from '../store/redis-servers.ts';
import { addressOf } from './accounts.ts';
import { until } from './ask.ts';
import { fleetHost, mayPush, mayPushIs, rule, ruled } from './fleet-hosts.ts';
import { graceBegun } from './graces.ts';
import { Server } from './server.ts';
import { statusWith } from './token-status.ts';

t.setTimeout(240_000);

const nothing = { limit: 0, subjects: ['size:all'] };

interface Told {
  readonly id: string;
  readonly kind: string;
  /** Number of refusals; thresholds and changes of policy have none. */
  readonly count?: number;
}

/** Events of this host, newest first. */
async function eventsOf(server: Server): Promise<readonly Told[]> {
  return JSON.parse((await rule(server, '/events?limit=1000')).text);
}

/** Resolves once this host tells so many events; a refusal counts as often as it was given. */
async function tells(server: Server, kind: 'threshold' | 'refusal', wanted: number): Promise<void> {
  await until(async () => {
    const told = (await eventsOf(server)).filter(event => event.kind === kind);
    return told.reduce((sum, { count = 1 }) => sum + count, 0) === wanted ? true : null;
  });
}

/** A host with a quota of its own, two groups, many events, and a token. */
async function alone(t: Parameters<typeof Server.open>[0]): Promise<{ server: Server; token: string }> {
  const server = await Server.open(t, { repositories: ['alice/app', 'bob/app'] });
  await ruled(server, '/groups', { body: { name: 'none', rules: [{ name: 'nothing', ...nothing }] } });
  await ruled(server, '/groups/none/users/alice', { method: 'PUT' });
  for (let at = 0; at < 30; at += 1) await ruled(server, '/rules', { body: { ...nothing, name: `r${at}` } });
  const { stdout } = await server.softquota('token create --user root --admin');
  await server.reports('carol', 3_000_000);
  await tells(server, 'threshold', 2);
  return { server, token: stdout.trim() };
}

/** Signs a browser in; gives what its session is answered with. */
async function signedIn(server: Server, token: string): Promise<{ status(): Promise<number> }> {
  const ask = async (init: RequestInit) => {
    const address = await addressOf(server);
    const headers = { 'Content-Type': 'application/json', Origin: new URL(address).origin, ...init.headers };
    return fetch(`${address}api/v1/session`, { ...init, headers });
  };
  const { headers } = await ask({ method: 'POST', body: JSON.stringify({ token }) });
  const Cookie = (headers.get('set-cookie') ?? '').replace(/;.*/s, '');
  return { status: async () => (await ask({ headers: { Cookie } })).status };
}

t.test('a quota moves to a shared store while the daemon runs, and comes home', async t => {
  const { address, servers } = await startSingle(t, '--requirepass', 'se cret');
  const withPassword = address.replace('//', '//:se%20cret@');
  const { server, token } = await alone(t);
  const session = await signedIn(server, token);
  t.equal(await session.status(), 200);
  const before = await eventsOf(server);
  const copied = await server.softquota(['store', 'copy', '--to', withPassword, '--verify']);
  t.match(copied, { code: 0, stderr: '' });
  t.match(
    copied.stdout,
    /^Copied [4-9] owners, \d+ records of policy and \d+ events to redis:\/\/\*+@127\.0\.0\.1:\d+\/0\. Everything was read back and is the same\.\n/,
  );
  t.match(copied.stdout, 'The usage that programs reported here, 3 MB, is shared when this host joins.\n');
  t.match(
    copied.stdout,
    / {4}\[server\]\n {4}HOST_ID = .*\n\n {4}\[store\]\n {4}ADAPTER = redis\n {4}HOST = /,
  );
  t.notMatch(copied.stdout, /se( |%20)cret/, 'passwords are never shown');
  t.equal(await statusWith(server, token, '/admin/quota/rules'), 200, 'and is used between copy and restart');

  await server.configure({
    server: { HOST_ID: 'one' },
    store: { ADAPTER: 'redis', HOST: withPassword },
    security: { SECRET_KEY: 'the same on each of the hosts of the fleet' },
  });
  await server.stop();
  await server.start();
  t.equal(await statusWith(server, token, '/admin/quota/rules'), 200, 'tokens are valid as before');
  t.equal(await session.status(), 401, 'browsers sign in anew');
  t.strictSame(await eventsOf(server), before);
  t.strictSame([await mayPush(server, 'alice'), await mayPush(server, 'bob')], [false, true]);
  t.equal(await server.usage('carol'), 3_000_000);
  const two = await fleetHost(t, { address: withPassword, host: 'two', repositories: ['bob/app'] });
  await mayPushIs(two, 'alice', false);
  await mayPushIs(two, 'carol', false);

  await ruled(two, '/groups/none/users/alice', { method: 'DELETE' });
  let refused = 3;
  for (; !(await mayPush(server, 'alice')); refused += 1);
  await tells(server, 'threshold', 3);
  // A host keeps refusals back for a second; what it has not written yet is no part of a copy.
  await tells(server, 'refusal', refused);
  const onBoth = await server.usageIs('bob', bytes => bytes > 40_000);
  const home = await server.softquota('store copy --to sqlite --verify --json');
  t.match(home, { code: 0, stderr: '' });
  const all = await eventsOf(server);
  t.ok(all.length > before.length);
  t.strictSame(oddKeys(JSON.parse(home.stdout)), []);
  const { events, verified } = JSON.parse(home.stdout);
  // Among them is how many refusals each host had on each day, which no list of events shows.
  t.ok(verified && events >= all.length, `${events} records of ${all.length} events`);
  await server.stop();
  await servers[0].end();
  await server.configure({ store: { ADAPTER: 'sqlite' } });
  await server.start();
  t.strictSame([await mayPush(server, 'alice'), await mayPush(server, 'carol')], [true, false]);
  t.equal(await server.usage('bob'), onBoth / 2, 'what lies on other hosts counts no more');
  t.strictSame(await eventsOf(server), all);
  t.match(await server.softquota('host list'), { code: 1, stderr: /docs\/redis\.md/ });

  await servers[0].start();
  await ruled(server, '/groups/none/users/bob', { method: 'PUT' });
  await server.stop();
  await server.configure({ store: { ADAPTER: 'redis' } });
  await server.start({ ready: false });
  t.match(await server.reasons(), /does not continue the known one/, 'it was ruled apart from the others');
  t.equal(await mayPush(server, 'bob'), false, 'and nothing of that is given up silently');
  t.match(await server.softquota('store repair --stored'), {
    code: 0,
    stdout: 'The policy in the store is in force.\n',
  });
  await mayPushIs(server, 'bob', true);
  t.equal(await server.usageIs('bob', bytes => bytes === onBoth), onBoth, 'the others’ usage counts again');
});

t.test('a grace goes on in a shared store, and at home again', async t => {
  const { address } = await startSingle(t);
  const server = await Server.open(t, {
    ini: {
      server: { HOST_ID: 'one' },
      quota: { ENABLED: 'true', GRACE: '7d' },
      security: { SECRET_KEY: 'the same on each of the hosts of the fleet' },
    },
  });
  await server.reports('carol', 1_050_000);
  await graceBegun(server);
  const said = async () => (await server.softquota('check carol --subject size:git:lfs')).stdout;
  const before = await said();
  t.match(before, /Refusals begin on \d{4}-/);
  for (const [to, store] of [
    [address, { ADAPTER: 'redis', HOST: address }],
    ['sqlite', { ADAPTER: 'sqlite' }],
  ] as const) {
    t.match(await server.softquota(['store', 'copy', '--to', to, '--verify']), { code: 0, stderr: '' });
    await server.stop();
    await server.configure({ store });
    await server.start();
    t.equal(await said(), before, `in ${store.ADAPTER}, to the second at which it ends`);
  }
});

t.test('nothing is copied over what a store holds, or where it does not let us in', async t => {
  const { address, servers } = await startSingle(t);
  const { server } = await alone(t);
  const copy = (...words: readonly string[]) => server.softquota(['store', 'copy', ...words]);
  t.match(await copy('--to', address, '--prefix', 'other'), { code: 0, stdout: /\n {4}PREFIX = other\n/ });
  t.match(await copy('--to', address, '--prefix', 'other'), {
    code: 1,
    stderr: /already has a policy, which is not changed.*another \[store\] PREFIX/s,
  });
  t.match(await copy('--to', address, '--json', '--verify'), { code: 0, stdout: /"verified": true/ });
  await servers[0].cli('flushall');
  await servers[0].cli('set', '{softquota}:owners', 'of another program');
  t.match(await copy('--to', address), { code: 78, stderr: /\{softquota\}:owners is none of softquota's/ });
  t.equal(await servers[0].cli('get', '{softquota}:owners'), 'of another program');
  await servers[0].cli('flushall');
  await servers[0].cli('config', 'set', 'requirepass', 'right');
  const wrong = await copy('--to', address.replace('//', '//:wrong-one@'));
  t.match(wrong, { code: 78, stdout: '', stderr: /does not let us in/ });
  t.notMatch(wrong.stderr, /wrong-one/);
  await servers[0].end();
  t.match(await copy('--to', address), { code: 69, stderr: /cannot be used at the moment/ });
  const mistyped = await copy('--to', 'redis://:hidden word@host:99999/x');
  t.match(mistyped, { code: 2, stderr: /expected an address as in \[store\] HOST, such as/ });
  t.notMatch(mistyped.stderr, /hidden/);
  t.match(await copy(), { code: 2, stderr: /--to/ });
  t.match(await copy('--to', 'sqlite', '--prefix', 'x'), { code: 2, stderr: /--prefix/ });
  for (const command of [
    ['store', 'copy', '--to', 'sqlite'],
    ['store', 'repair', '--known'],
    ['host', 'forget', 'x'],
  ]) {
    t.match(await server.softquota(command), { code: 1, stderr: /its quota for itself/ }, command.join(' '));
  }
  await server.stop();
  t.match(await copy('--to', address), { code: 69, stderr: /no daemon answers/ });
});

t.test('a copy that broke off is begun anew', async t => {
  const { address, servers } = await startSingle(t);
  const { server } = await alone(t);
  // The policy comes last, and there it stops.
  await servers[0].cli('acl', 'setuser', 'default', '-pexpire');
  t.match(await server.softquota(['store', 'copy', '--to', address]), { code: 69 });
  t.not(await servers[0].cli('hlen', '{softquota}:events'), '0');
  await servers[0].cli('acl', 'setuser', 'default', '+pexpire');
  t.match(await server.softquota(['store', 'copy', '--to', address, '--verify']), { code: 0, stderr: '' });
});

t.test('which policy is the right one is decided once, by a word of somebody', async t => {
  const { address, servers } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] });
  await ruled(one, '/groups', { body: { name: 'none', rules: [{ name: 'nothing', ...nothing }] } });
  await ruled(one, '/groups/none/users/alice', { method: 'PUT' });
  const repair = (...words: readonly string[]) => one.softquota(['store', 'repair', ...words]);
  t.match(await repair(), { code: 2, stderr: /give either --known or --stored/ });
  t.match(await repair('--known', '--stored'), {
    code: 2,
    stderr: /'--known' cannot be used with option '--stored'/,
  });
  t.match(await repair('--known'), { code: 1, stderr: /nothing to repair/ });
  await servers[0].cli('flushall');
  await until(async () => (/has no policy/.test(await one.reasons()) ? true : null));
  t.match(await repair('--known'), {
    code: 0,
    stdout: 'The store has the policy that is in force on this host.\n',
  });
  t.equal(await one.reasons(), '');
  t.equal(await mayPush(one, 'alice'), false);
  await servers[0].end();
  t.match(await repair('--known'), { code: 69, stderr: /cannot be used at the moment/ });
});

t.test('hosts are listed and forgotten by programs, too', async t => {
  const { address, servers } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] });
  const two = await fleetHost(t, { address, host: 'two', repositories: ['alice/app'] });
  await one.usageIs('alice', bytes => bytes > 40_000);
  const list = async () => JSON.parse((await one.softquota('host list --json')).stdout);
  t.strictSame(oddKeys(await list()), []);
  t.match(await list(), [
    { id: 'one', alive: true, owners: 1 },
    { id: 'two', alive: true, silent_seconds: 0, owners: 1, bytes: Number },
  ]);
  await two.stop();
  const forgotten = await one.softquota('host forget two --json');
  t.match(JSON.parse(forgotten.stdout), { id: 'two', alive: false });
  t.strictSame(oddKeys(JSON.parse(forgotten.stdout)), []);
  t.match(await list(), [{ id: 'one' }]);
  t.match(await one.softquota('host forget ..'), { code: 2, stderr: /cannot be a name/ });
  await servers[0].end();
  t.match(await one.softquota('host list'), { code: 69, stderr: /cannot be used at the moment/ });
});

t.test('the help of each command leads on', async t => {
  const server = await Server.open(t, { started: false });
  for (const [words, expected] of [
    [['store'], /repair.*copy/s],
    [['store', 'copy'], /Example:\n {2}softquota store copy --to redis:.*Exit status: 0 done/s],
    [['store', 'repair'], /--known.*--stored.*Exit status/s],
    [['host', 'forget'], /HOST_ID.*Exit status/s],
  ] as const) {
    const { code, stdout } = await server.softquota([...words, '--help']);
    t.equal(code, 0);
    t.match(stdout, expected);
  }
});
