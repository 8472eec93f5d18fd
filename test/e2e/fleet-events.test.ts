/** Several hosts see that an owner comes to a limit; one of them tells. */

import t, { type Test } from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { fleetHost, mayPushIs, rule } from './fleet-hosts.ts';
import type { Server } from './server.ts';

t.setTimeout(240_000);

/** Owners whose crossings this host finds on record, in order. */
async function crossed(on: Server): Promise<readonly string[]> {
  const { status, text } = await rule(on, '/events?kind=threshold&limit=1000');
  if (status !== 200) throw new Error(text);
  return JSON.parse(text)
    .map(({ owner, direction }: { owner: string; direction: string }) => `${owner} ${direction}`)
    .sort();
}

/** Has an owner store so much, as a program on that host says. */
async function store(on: Server, owner: string, bytes: number): Promise<void> {
  const body = { owner, subject: 'size:git:lfs', unit: 'store', bytes };
  const { status, text } = await on.ask('trusted', '/v1/units', { body });
  if (status !== 200) throw new Error(text);
}

/** Resolves once the last of these is on record; those before it had the time to be told twice. */
async function toldAre(t: Test, on: Server, expected: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  await until(
    async () => {
      last = await crossed(on);
      return last.length >= expected.length ? true : null;
    },
    () => `on record: ${last.join(', ')}`,
  );
  t.strictSame(last, expected);
}

t.test('a crossing is told once, also when the host that tells is gone, or Redis was', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const names = ['one', 'two', 'three'];
  const fleetHosts = await Promise.all(names.map(host => fleetHost(t, { address, host })));
  const [one, two, three] = fleetHosts;
  if (one === undefined || two === undefined || three === undefined) throw new Error('no hosts');
  await store(one, 'alice', 2_000_000);
  for (const each of fleetHosts) await mayPushIs(each, 'alice', false);
  await store(two, 'bob', 2_000_000);
  await toldAre(t, three, ['alice up', 'bob up']);
  await store(two, 'bob', 0);
  await toldAre(t, one, ['alice up', 'bob down', 'bob up']);

  const holder = await redis.cli('get', 'softquota:task:thresholds');
  const teller = fleetHosts[names.indexOf(holder)];
  const others = fleetHosts.filter(each => each !== teller);
  const [left] = others;
  if (teller === undefined || left === undefined) throw new Error(`nobody has it: ${holder}`);
  await teller.stop('SIGKILL');
  await store(left, 'carol', 2_000_000);
  const known = ['alice up', 'bob down', 'bob up', 'carol up'];
  await toldAre(t, left, known);
  t.not(await redis.cli('get', 'softquota:task:thresholds'), holder, 'another has taken the task');

  await redis.end();
  await teller.start({ ready: false });
  t.match(
    await teller.reasons(),
    /the shared store has not been usable since/,
    'it starts while Redis is away',
  );
  await mayPushIs(teller, 'alice', false);
  t.equal((await rule(teller, '/events')).status, 503);
  await redis.start();
  for (const each of [teller, left]) await each.ready();
  await store(teller, 'dave', 2_000_000);
  await toldAre(t, left, [...known, 'dave up']);
});
