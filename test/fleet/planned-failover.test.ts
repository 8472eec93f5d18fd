/**
 * A planned `SENTINEL FAILOVER` while policy changes are under way ends by itself, with every change that was
 * acknowledged. Sentinel does not make the old master stop first: where no replica is waited for, what it
 * takes meanwhile may be another change than the new master's of the same number, and that is told.
 */

import t, { type Test } from 'tap';
import { comes, startSentinels } from '../store/redis-servers.ts';
import { knowsRule, type Member, makeRule, member } from './world.ts';

t.setTimeout(300_000);

async function survives(t: Test, waitReplicas: number): Promise<void> {
  const watched = await startSentinels(t);
  const { address } = watched;
  const members = [
    await member(t, { address, host: 'one', waitReplicas, settleMs: 1200 }),
    await member(t, { address, host: 'two', waitReplicas, settleMs: 1200 }),
  ];
  const acknowledged = new Set<string>();
  const refusals = new Map<string, number>();
  let isOver = false;
  let count = 0;
  const works = async (host: Member) => {
    while (!isOver) {
      const name = `rule-${++count}`;
      await makeRule(host, name).then(
        () => acknowledged.add(name),
        (error: Error) => refusals.set(error.message, (refusals.get(error.message) ?? 0) + 1),
      );
      await host.fleet.catchUp().catch(() => {});
    }
  };
  const working = Promise.all(members.map(works));
  const more = async (n: number) => {
    const goal = acknowledged.size + n;
    await comes(`${n} more`, async () => acknowledged.size >= goal);
  };
  await more(20);
  const first = await watched.master();
  await watched.sentinels[0]?.cli('sentinel', 'failover', 'quota');
  await comes('another master', async () => (await watched.master()) !== first);
  await comes('the old master as a replica', async () =>
    (await first.cli('role').catch(() => '')).startsWith('slave'),
  );
  try {
    await more(20);
  } finally {
    isOver = true;
    await working;
    t.comment(JSON.stringify([...refusals], null, 1));
    t.comment(
      `${acknowledged.size} acknowledged`,
      members.map(({ fleet }) => fleet.state),
    );
  }
  for (const host of members) {
    const { fleet } = host;
    await fleet.catchUp();
    const { divergence } = fleet.state;
    if (waitReplicas > 0) t.equal(divergence, null);
    const lost = [...acknowledged].filter(name => !knowsRule(host, name));
    if (divergence === null) t.strictSame(lost, [], 'nothing is lost without a word');
  }
}

t.test('none of the replicas is waited for', t => survives(t, 0));
t.test('one of them is', t => survives(t, 1));
