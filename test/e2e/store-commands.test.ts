/**
 * A quota that moves between one host's own store and a shared one, and the commands that look after that.
 */

import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { statusWith } from './accounts.ts';
import { until } from './ask.ts';
import { fleetHost, mayPush, mayPushIs } from './fleet-hosts.ts';
import { Server } from './server.ts';

const nothing = { limit: 0, subjects: ['size:all'] };

interface Told {
  readonly id: string;
  readonly kind: string;
  /** Number of refusals; thresholds and changes of policy have none. */
  readonly count?: number;
}

/** Events of this host, newest first. */
function eventsOf(server: Server): Promise<readonly Told[]> {
  return server.admin('/admin/quota/events?limit=1000');
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
  await server.admin('/admin/quota/groups', {
    body: { name: 'none', rules: [{ name: 'nothing', ...nothing }] },
  });
  await server.admin('/admin/quota/groups/none/users/alice', { method: 'PUT' });
  for (let at = 0; at < 30; at += 1)
    await server.admin('/admin/quota/rules', { body: { ...nothing, name: `r${at}` } });
  const { stdout } = await server.softquota('token create --user root --admin');
  await server.reports('carol', 3_000_000);
  await tells(server, 'threshold', 2);
  return { server, token: stdout.trim() };
}

t.test('a quota moves to a shared store by its address, and comes home by a backup', async t => {
  const { address, servers } = await startSingle(t, '--requirepass', 'se cret');
  const withPassword = address.replace('//', '//:se%20cret@');
  const { server, token } = await alone(t);
  const before = await eventsOf(server);
  await server.configure({
    server: { HOST_ID: 'one' },
    store: { ADAPTER: 'redis', HOST: withPassword },
    security: { SECRET_KEY: 'the same on each of the hosts of the fleet' },
  });
  await server.stop();
  await server.start();
  t.equal(await statusWith(server, token, '/admin/quota/rules'), 200, 'tokens are valid as before');
  t.strictSame(await eventsOf(server), before);
  t.strictSame([await mayPush(server, 'alice'), await mayPush(server, 'bob')], [false, true]);
  t.equal(await server.usage('carol'), 3_000_000);
  const two = await fleetHost(t, { address: withPassword, host: 'two', repositories: ['bob/app'] });
  await mayPushIs(two, 'alice', false);
  await mayPushIs(two, 'carol', false);

  await two.admin('/admin/quota/groups/none/users/alice', { method: 'DELETE' });
  await mayPushIs(server, 'alice', true);
  await tells(server, 'threshold', 3);
  const onBoth = await server.usageIs('bob', bytes => bytes > 40_000);
  const file = `${server.folder}/backup.json`;
  // A host keeps refusals back for a second, and writes them when it ends.
  await two.stop();
  await server.stop();
  await server.start();
  const all = await eventsOf(server);
  t.match(await server.softquota(['backup', file]), { code: 0 });
  await server.stop();
  await servers[0].end();
  t.match(await server.softquota(['restore', file, '--replace']), { code: 0 });
  await server.configure({ store: { ADAPTER: 'sqlite' } });
  await server.start();
  t.strictSame([await mayPush(server, 'alice'), await mayPush(server, 'carol')], [true, false]);
  t.equal(await server.usage('bob'), onBoth / 2, 'what lies on other hosts counts no more');
  t.strictSame((await eventsOf(server)).slice(-all.length), all);
  t.match(await server.softquota(['host', 'list']), { code: 1, stderr: /docs\/redis\.md/ });

  await servers[0].start();
  await two.start();
  await server.admin('/admin/quota/groups/none/users/bob', { method: 'PUT' });
  await server.stop();
  await server.configure({ store: { ADAPTER: 'redis' } });
  await server.start({ ready: false });
  t.match(await server.reasons(), /does not continue the known one/, 'it was ruled apart from the others');
  t.equal(await mayPush(server, 'bob'), false, 'and nothing of that is given up silently');
  const otherSays = async () => (await two.softquota(['doctor', '--json'])).stdout;
  await until(async () => (/policy_diverged/.test(await otherSays()) ? true : null));
  const repair = (words: string) => server.softquota(`store repair ${words}`);
  t.match(await repair(''), { code: 2, stderr: /give either --known or --stored/ });
  t.match(await repair('--known --stored'), { code: 2, stderr: /cannot be used with option '--stored'/ });
  t.match(await repair('--stored'), {
    code: 0,
    stdout: 'The policy in the store is in force.\n',
  });
  t.match(await repair('--known'), { code: 1, stderr: /nothing to repair/ });
  await mayPushIs(server, 'bob', true);
  t.equal(await server.usageIs('bob', bytes => bytes === onBoth), onBoth, 'the others’ usage counts again');
  await servers[0].end();
  const away = { code: 69, stderr: /cannot be used at the moment/ };
  t.match(await repair('--known'), away);
  t.match(await server.softquota('host list'), away);
});
