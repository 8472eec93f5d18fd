/**
 * Claim: a year of 1,000 owners takes little disk, and after its first months little more. Draws the size of
 * the store's file as year.svg.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { dailyDays, hourlyDays } from '../src/overview/index.ts';
import { leaves } from '../src/quota/index.ts';
import { openStore } from '../src/store/index.ts';
import { drawCurve } from './curve.ts';
import { count, print, tell } from './figures.ts';
import { makeGround, numbers } from './ground.ts';

const owners = 1000;
/** One of twenty owners pushes in an hour, and is refused or warned once in a hundred hours. */
const changedEach = owners / 20;
const eventsEach = owners / 100;
const days = 365;
const hourMs = 3_600_000;
const keptEventsMs = 90 * 24 * hourMs;
const firstHour = Date.parse('2026-01-01T00:00:00Z') / hourMs;
const mostMb = 60;

const random = numbers();
const file = join(makeGround(), 'softquota.db');
const store = await openStore({ file });
const idOf = (n: number) => 2 ** 40 + n * 997;
const everybody = Array.from({ length: owners }, (_, n) => n);
await store.write({
  owners: everybody.map(n => ({
    id: idOf(n),
    key: `owner-${n}`,
    name: `owner-${n}`,
    type: 'user',
    since: 0,
  })),
});

const megabytes: number[] = [];
for (let day = 0; day < days; day++) {
  for (let hour = firstHour + 24 * day; hour < firstHour + 24 * (day + 1); hour++) {
    const changed = new Set(Array.from({ length: changedEach }, () => random(owners)));
    await store.recordOwners(
      hour,
      [...changed].map(n => ({ ownerId: idOf(n), usage: usage() })),
    );
    await store.recordHour({ hour, at: hour * hourMs, usage: usage() });
    await store.write({ events: Array.from({ length: eventsEach }, (_, n) => refusal(hour, n)) });
  }
  const nowHour = firstHour + 24 * (day + 1);
  await store.write({ goneEventsBefore: nowHour * hourMs - keptEventsMs });
  let afterOwner = -1;
  for (;;) {
    const thinned = await store.thinHistory({ afterOwner, nowHour, hourlyDays, dailyDays });
    if (thinned.length === 0) break;
    afterOwner = thinned.at(-1) ?? afterOwner;
  }
  megabytes.push(statSync(file).size / 1e6);
  if (day % 30 === 0) tell(`day ${day}: ${megabytes.at(-1)?.toFixed(1)} MB`);
}
await store.close();

const last = megabytes.at(-1) ?? 0;
const monthly = (last - (megabytes[days - 91] ?? 0)) / 3;
drawCurve('year.svg', megabytes, {
  title: `Megabytes of the store's file over a year of ${count(owners)} owners`,
  below: `MB of the store's file, each day of a year of ${count(owners)} owners`,
  step: 10,
});
print({
  title: 'A year',
  how: `${count(owners)} owners with three kinds of data, of whom about ${count(changedEach)} push in each hour, and ${count(eventsEach)} refusals an hour, which stay for 90 days. The file of the store at the end of each day.`,
  figures: [
    {
      what: 'the store after a year',
      ours: `${last.toFixed(1)} MB`,
      instead: `${((last * 1000) / owners).toFixed(1)} kB for each owner; ${monthly.toFixed(1)} MB a month in the last quarter`,
      ratio: null,
      goal: {
        words: `at most ${mostMb} MB`,
        met: last <= mostMb,
        reason: 'something is kept that should go',
      },
    },
  ],
});

function usage(): number[] {
  return leaves.map((_, at) => (at < 3 ? random(5e9) : 0));
}

function refusal(hour: number, n: number) {
  const owner = random(owners);
  return {
    id: `r-${hour}-${n}`,
    kind: 'refusal',
    at: hour * hourMs + n,
    ownerId: idOf(owner),
    ownerKey: `owner-${owner}`,
    text: JSON.stringify({
      subject: 'size:repos:private',
      path: `/srv/git/owner-${owner}/repository.git`,
      actor: `owner-${random(owners)}`,
      decision: { rule: 'total', group: 'everybody', used: random(5e9), limit: 5e9, percent: 104 },
    }),
  };
}
