/** Claim: a full walk of 500,000 entries is not slower than `du -s` of the same. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scan, startDaemon } from './daemon.ts';
import { count, type Figure, print, ratioOf, seconds, spread, tell } from './figures.ts';
import { Made, makeGround, makeLfsStore, makeRepository, numbers, writeConfig } from './ground.ts';
import { pduVersion, timedPdu } from './pdu.ts';
import { processorMs, timed, timedProcessor } from './processes.ts';

const owners = 400;
const repositoriesEach = 8;
const looseObjects = 62;
const lfsObjects = 60;
const workers = 2;
const rounds = 5;
const coldRounds = 3;
const units = owners * (repositoriesEach + 1);

const directory = makeGround();
const roots = [join(directory, 'git'), join(directory, 'lfs')];
const made = makeServer();
tell(`${count(made.entries)} entries made`);
const config = writeConfig(
  directory,
  `WORKERS = ${workers}

[storage.repos]
PATH = ${roots[0]}/{owner}/{repo}.git

[storage.lfs]
PATH = ${roots[1]}/{owner}
`,
);
const daemon = await startDaemon(config);
// The first walks warm the caches, and packs that were made just now are walked twice.
await scan(config, units);
await scan(config, units);

const sweeps: number[] = [];
const sweepsProcessor: number[] = [];
const blocks: number[] = [];
const blocksProcessor: number[] = [];
const lengths: number[] = [];
const many: number[] = [];
const manyProcessor: number[] = [];
for (let round = 0; round < rounds; round++) {
  const sweep = await sweepOnce();
  sweeps.push(sweep.ms);
  sweepsProcessor.push(sweep.processorMs);
  const du = await timedProcessor('du', ['-s', ...roots]);
  blocks.push(du.ms);
  blocksProcessor.push(du.processorMs);
  lengths.push((await timed('du', ['-s', '--apparent-size', ...roots])).ms);
  if (pduVersion !== null) {
    const pdu = await timedPdu(roots, workers);
    many.push(pdu.ms);
    manyProcessor.push(pdu.processorMs);
  }
  tell(`walk ${round + 1}: ${seconds(sweep.ms)}, du ${seconds(du.ms)}`);
}
const cold: number[] = [];
const coldBlocks: number[] = [];
for (let round = 0; round < coldRounds && dropCaches(); round++) {
  cold.push((await sweepOnce()).ms);
  dropCaches();
  coldBlocks.push((await timed('du', ['-s', ...roots])).ms);
  tell(`cold walk ${round + 1}: ${seconds(cold.at(-1) ?? 0)}, du ${seconds(coldBlocks.at(-1) ?? 0)}`);
}
await daemon.stop();

const beside = (what: string, ours: readonly number[], du: string, theirs: readonly number[]): Figure => {
  const ratio = ratioOf(ours, theirs);
  const instead = `${du} ${spread(theirs, seconds)}`;
  return { what, ours: spread(ours, seconds), instead, ratio, goal: null };
};
const reason =
  'what Node adds to each call of the system: opening, listing and asking cost it a third more than a program without it.';
const asFast = (figure: Figure): Figure => ({
  ...figure,
  goal: { words: 'not slower', met: (figure.ratio ?? 0) <= 1, reason },
});
print({
  title: 'A full walk',
  how: `${count(made.entries)} entries: ${count(owners * repositoriesEach)} repositories and ${owners} LFS stores. The daemon, with ${workers} walkers, is asked by \`softquota scan --verify\`; its own time counts, from the beginning of the sweep until all sizes are kept. du is one thread${pduVersion === null ? '' : `, ${pduVersion} has ${workers}`}. Caches are warm, ${rounds} rounds in turn${cold.length === 0 ? '' : `; then ${coldRounds} rounds with caches that were emptied before each walk`}. Both saw every entry: the daemon's sum was that of the files made, to the byte.`,
  figures: [
    asFast(beside('time', sweeps, '`du -s`', blocks)),
    asFast(beside('time', sweeps, '`du -s --apparent-size`', lengths)),
    beside('processor time of all threads', sweepsProcessor, '`du -s`', blocksProcessor),
    ...(pduVersion === null ? [] : besideMany()),
    ...(cold.length === 0 ? [] : [besideCold()]),
  ],
});

function besideMany(): Figure[] {
  const time = beside('time', sweeps, '`pdu`', many);
  const words = 'at most 1.05 times as long';
  return [
    { ...time, goal: { words, met: (time.ratio ?? Number.NaN) <= 1.05, reason } },
    beside('processor time of all threads', sweepsProcessor, '`pdu`', manyProcessor),
  ];
}

function besideCold(): Figure {
  const time = beside('time with cold caches', cold, '`du -s`', coldBlocks);
  const words = 'at most 0.7 times as long';
  const why = 'both wait for the same disk.';
  return { ...time, goal: { words, met: (time.ratio ?? Number.NaN) <= 0.7, reason: why } };
}

/** Empties what the system keeps of disks; false where that is not permitted. */
function dropCaches(): boolean {
  execFileSync('sync');
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '3');
    return true;
  } catch {
    return false;
  }
}

function makeServer(): Made {
  const all = new Made();
  const random = numbers();
  for (const root of roots) mkdirSync(root);
  for (let owner = 0; owner < owners; owner++) {
    all.directory(`${roots[0]}/owner-${owner}`);
    for (let each = 0; each < repositoriesEach; each++)
      makeRepository(all, `${roots[0]}/owner-${owner}/project-${each}.git`, looseObjects, random);
    makeLfsStore(all, `${roots[1]}/owner-${owner}`, lfsObjects, random);
  }
  return all;
}

/** One full walk, which must find what was made. */
async function sweepOnce(): Promise<{ readonly ms: number; readonly processorMs: number }> {
  const before = processorMs(daemon.pid);
  const { started_at: startedAt, finished_at: finishedAt, progress } = await scan(config, units);
  if (progress.bytes !== made.bytes) {
    throw new Error(`the walk found ${progress.bytes} bytes where ${made.bytes} were made`);
  }
  return {
    ms: Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? ''),
    processorMs: processorMs(daemon.pid) - before,
  };
}
