/**
 * Claims: a daemon that keeps 10,000 units answers soon after its start, and 100,000 owners fit into little
 * memory.
 */

import { join } from 'node:path';
import { scan, startDaemon, startPlain } from './daemon.ts';
import { alone, count, megabytes, milliseconds, print, ratioOf, seconds, spread, tell } from './figures.ts';
import { makeGround, makeOwners, writeConfig } from './ground.ts';
import { memoryMb, timed } from './processes.ts';

const unitsAtStart = 10_000;
const ownersInMemory = 100_000;
const starts = 9;

const directory = makeGround();
const root = join(directory, 'git');
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);

makeOwners(root, unitsAtStart);
const first = await startDaemon(config);
await scan(config, unitsAtStart);
await first.stop();

const ours: number[] = [];
const theirs: number[] = [];
for (let each = 0; each < starts; each++) {
  // Its first answer is already about an owner, from what was kept.
  const daemon = await startDaemon(config, `/v1/check?path=${root}/owner-${each}/project.git`);
  ours.push(daemon.answeredMs);
  await daemon.stop();
  const plain = await startPlain(directory);
  theirs.push(plain.answeredMs);
  await plain.stop();
}
tell(`starts: ${spread(ours, milliseconds)}, ceiling ${spread(theirs, milliseconds)}`);

const least = await startPlain(directory);
const small = await startDaemon(config);
await scan(config, unitsAtStart);
const smallMb = memoryMb(small.pid);
const leastMb = memoryMb(least.pid);
await Promise.all([small.stop(), least.stop()]);
makeOwners(root, ownersInMemory, unitsAtStart);
const large = await startDaemon(config);
const walk = await scan(config, ownersInMemory);
const du = await timed('du', ['-s', root]);
const walkMs = Date.parse(walk.finished_at ?? '') - Date.parse(walk.started_at ?? '');
const largeMb = memoryMb(large.pid);
await large.stop();
tell(`memory: ${megabytes(largeMb)} with ${count(ownersInMemory)} owners`);

print({
  title: 'Starting, and memory',
  how: `From exec to the first answer, a check of an owner from what was kept before; ${starts} starts in turn with the least server that Node can be. Memory is what is resident once everything has been walked, walkers and store included, and the most that ever was.`,
  figures: [
    {
      what: `first answer, ${count(unitsAtStart)} units kept`,
      ours: spread(ours, milliseconds),
      instead: `ceiling ${spread(theirs, milliseconds)}`,
      ratio: ratioOf(ours, theirs),
      goal: null,
    },
    memory(unitsAtStart, smallMb),
    memory(ownersInMemory, largeMb),
    alone(
      'each owner more, with its repository',
      `${count(((largeMb.now - smallMb.now) * 1e6) / (ownersInMemory - unitsAtStart))} bytes`,
    ),
    {
      what: `a full walk of ${count(ownersInMemory)} repositories with nothing in them, once`,
      ours: seconds(walkMs),
      instead: `\`du -s\` ${seconds(du.ms)}`,
      ratio: walkMs / du.ms,
      goal: null,
    },
  ],
});

type Memory = ReturnType<typeof memoryMb>;

function memory(owners: number, mb: Memory) {
  const what = `memory, ${count(owners)} owners (most)`;
  return {
    what,
    ours: megabytes(mb),
    instead: `ceiling ${megabytes(leastMb)}`,
    ratio: mb.now / leastMb.now,
    goal: null,
  };
}
