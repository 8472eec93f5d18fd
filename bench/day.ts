/**
 * Claim: memory levels off, however much passes: a million checks, ten thousand pushes and a hundred sweeps. Draws
 * the curve as day.svg.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from './asking.ts';
import { drawCurve } from './curve.ts';
import { startDaemon, sweep } from './daemon.ts';
import { count, print, tell } from './figures.ts';
import { Made, makeBareRepository, makeGround, writeConfig } from './ground.ts';
import { memoryMb } from './processes.ts';
import { makeCommits, makeTarget, pushTo, putHooks } from './target.ts';

const rounds = 100;
const checks = 1_000_000;
const targets = 20;
const pushesEach = 5;
const others = 1000;
/** Both cores are busy, and no two push into the same repository. */
const pushersAtOnce = 2;
const restMs = 90_000;
/** Growth of the last quarter over the second one, in which everything is warm, at most. */
const mostGrowth = 1.05;

const directory = makeGround();
const root = join(directory, 'git');
mkdirSync(join(root, 'others'), { recursive: true });
mkdirSync(join(root, 'pushed'));
const made = new Made();
for (let each = 0; each < others; each++) makeBareRepository(made, join(root, 'others', `${each}.git`));
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);
const repositories: string[] = [];
for (let each = 0; each < targets; each++) {
  const target = await makeTarget(join(root, 'pushed', `${each}.git`));
  await putHooks(target, config);
  repositories.push(target);
}
const work = join(directory, 'work');
const commits = await makeCommits(work, rounds * pushesEach);
const addresses = repositories.map(path => `/v1/check?path=${path}`);
await sweep(config, others + targets);

const curve = [memoryMb(daemon.pid).now];
let asked = 0;
let pushed = 0;
for (let round = 0; round < rounds; round++) {
  const waiting = [...repositories];
  const push = async () => {
    for (let target = waiting.pop(); target !== undefined; target = waiting.pop()) {
      for (const commit of commits.slice(round * pushesEach, (round + 1) * pushesEach)) {
        await pushTo(target, work, commit);
        pushed += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: pushersAtOnce }, push));
  while (asked < ((round + 1) * checks) / rounds) {
    const milliseconds = 100;
    const accept = 'application/json';
    const { perSecond } = await ask({ ...daemon, addresses, accept, connection: 'kept', milliseconds });
    asked += (perSecond * milliseconds) / 1000;
  }
  await sweep(config, others + targets);
  curve.push(memoryMb(daemon.pid).now);
  if (round % 10 === 9)
    tell(`${count(pushed)} pushes, ${count(asked)} checks: ${Math.round(curve.at(-1) ?? 0)} MB`);
}
await delay(restMs);
const rested = memoryMb(daemon.pid).now;
await daemon.stop();

const second = mean(curve.slice(rounds / 4, rounds / 2));
const last = mean(curve.slice(-rounds / 4));
drawCurve('day.svg', curve, {
  title: `Megabytes in memory over ${count(pushed)} pushes, ${count(asked)} checks and ${rounds} sweeps`,
  below: `MB in memory after each of ${rounds} sweeps`,
});
print({
  title: 'A day in fast motion',
  how: `${count(asked)} checks, ${count(pushed)} pushes with both hooks into ${targets} repositories, ${rounds} sweeps beside ${count(others)} other repositories; what is resident after each sweep, the mean of the last quarter beside that of the second.`,
  figures: [
    {
      what: 'memory of the last quarter',
      ours: `${last.toFixed(0)} MB`,
      instead: `the second quarter ${second.toFixed(0)} MB`,
      ratio: last / second,
      goal: {
        words: `at most ${mostGrowth} times`,
        met: last <= mostGrowth * second,
        reason: 'something is kept that should go, or a collection of garbage had not come yet',
      },
    },
    {
      what: `${restMs / 1000} seconds later`,
      ours: `${rested.toFixed(0)} MB`,
      instead: `at the beginning ${(curve[0] ?? 0).toFixed(0)} MB`,
      ratio: rested / (curve[0] ?? Number.NaN),
      goal: null,
    },
  ],
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
