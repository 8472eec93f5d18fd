/**
 * Claims: memory and the time to the first answer follow the owners slowly, and a check takes the same
 * whether there are 100 of them or 100,000.
 */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore, type UnitRecord } from '../src/store/index.ts';
import { ask } from './asking.ts';
import { startDaemon, startPlain } from './daemon.ts';
import { alone, count, type Figure, megabytes, milliseconds, print, seconds, tell } from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { memoryMb, untilAtRest } from './processes.ts';

const sizes = [
  { owners: 100, goalMb: 90, goalMs: 400 },
  { owners: 100_000, goalMb: 300, goalMs: 2000 },
];
const ownersAtOnce = 5000;

const directory = makeGround();
const config = writeConfig(directory, '');
const data = join(directory, 'data');

const leaves = ['size:repos:private', 'size:git:lfs'] as const;

/** Two units for each owner, as a program reports them: the disk has no room for so many directories. */
function unitsOf(owner: string, seq: number): readonly UnitRecord[] {
  const common = { kind: 'reported', host: 'bench', owner, files: 0, partial: false, measuredAt: 0 } as const;
  return leaves.map((leaf, at) => {
    const name = `/srv/git/${owner}/project-${at}.git`;
    return { ...common, id: `${owner}\0${leaf}\0${name}`, name, leaf, bytes: 1_000_000 + seq, seq: seq + at };
  });
}

async function makeOwners(owners: number): Promise<void> {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, 'host.id'), 'bench\n');
  const store = await openStore({ file: join(data, 'softquota.db') });
  for (let first = 0; first < owners; first += ownersAtOnce) {
    const some = Array.from({ length: Math.min(ownersAtOnce, owners - first) }, (_, at) => first + at);
    await store.write({
      owners: some.map(at => ({
        id: at + 1,
        key: `owner-${at}`,
        name: `owner-${at}`,
        type: 'user',
        since: 0,
      })),
      units: some.flatMap(at => unitsOf(`owner-${at}`, 1 + 2 * at)),
    });
  }
  await store.close();
}

function questions(owners: number): readonly string[] {
  const asked = Array.from({ length: 1000 }, (_, at) => Math.floor((at * owners) / 1000));
  return asked.map(at => `/v1/check?owner=owner-${at}&subject=size:git:lfs`);
}

const plain = await startPlain(directory);
await delay(1000);
const least = { answeredMs: plain.answeredMs, ...memoryMb(plain.pid) };
const asking = { accept: 'application/json', connection: 'kept', milliseconds: 5000 } as const;
const leastAsked = await ask({ ...plain, ...asking, addresses: ['/'] });
await plain.stop();

const figures: Figure[] = [];
for (const { owners, goalMb, goalMs } of sizes) {
  await makeOwners(owners);
  const daemon = await startDaemon(config, `/v1/check?owner=owner-${owners - 1}&subject=size:git:lfs`);
  const workedMs = await untilAtRest(daemon.pid);
  const { perSecond, p50Ms } = await ask({ ...daemon, ...asking, addresses: questions(owners) });
  const { now, most } = memoryMb(daemon.pid);
  await daemon.stop();
  tell(`${count(owners)} owners: ${seconds(daemon.answeredMs)}, ${Math.round(now)} MB`);
  const of = `${count(owners)} owners, ${count(2 * owners)} units`;
  figures.push(
    {
      what: `first answer, ${of}`,
      ours: seconds(daemon.answeredMs),
      instead: `ceiling ${seconds(least.answeredMs)}`,
      ratio: daemon.answeredMs / least.answeredMs,
      goal: {
        words: `at most ${seconds(goalMs)}`,
        met: daemon.answeredMs <= goalMs,
        reason: 'every unit is read from the store, for the sums are not kept there',
      },
    },
    alone(`from then on until it is at rest, ${of}`, seconds(workedMs)),
    {
      what: `memory, ${of} (most)`,
      ours: megabytes({ now, most }),
      instead: `ceiling ${Math.round(least.now)} MB`,
      ratio: now / least.now,
      goal: {
        words: `at most ${goalMb} MB`,
        met: now <= goalMb,
        reason: 'Node.js itself and the threads take most of it with few owners, owners and units with many',
      },
    },
    {
      what: `checks by owner, ${of}`,
      ours: `${count(perSecond)}/s, median ${milliseconds(p50Ms)}`,
      instead: `ceiling ${count(leastAsked.perSecond)}/s`,
      ratio: perSecond / leastAsked.perSecond,
      goal: null,
    },
  );
}

print({
  title: 'Scale',
  how: `Stores of so many owners with two units each. From exec to the first answer; once it has looked at everybody and is at rest, to two seconds, checks by owner in JSON over 16 kept connections, 1,000 owners in turn; what is resident after them, and the most that ever was. Beside it stands the least server on \`node:http\`, with one ready-made answer. Both are started with MALLOC_ARENA_MAX=2, as the unit of systemd does.`,
  figures,
});
