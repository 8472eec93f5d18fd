/** Claim: a sweep of what has hardly changed takes a small part of a walk. */

import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Server, startDaemon, sweep } from './daemon.ts';
import { count, type Figure, print, ratioOf, seconds, spread, tell } from './figures.ts';
import { Made, makeGround, makeLfsStore, makeRepository, numbers, writeConfig } from './ground.ts';
import { pduVersion, timedPdu } from './pdu.ts';
import { processorMs, timedProcessor } from './processes.ts';

const owners = 360;
const repositoriesEach = 8;
const looseObjects = 62;
const storeOwners = 60;
const lfsObjects = 480;
const workers = 2;
const rounds = 5;
const changedRounds = 2;
const changedShare = 0.01;
/** Signatures are taken of what has been at rest for a minute. */
const restMs = 61_000;

interface Side {
  readonly ms: number[];
  readonly processorMs: number[];
}

interface World {
  readonly what: string;
  readonly root: string;
  readonly config: string;
  readonly units: number;
  readonly daemon: Server;
  /** Changes one of its units, another one for each number. */
  readonly change: (each: number) => void;
  readonly unchanged: Side;
  readonly changed: Side;
  readonly walked: Side;
  /** By parallel-disk-usage; empty where it is not installed. */
  readonly walkedByMany: Side;
  /** Factors by which a sweep is to be quicker than parallel-disk-usage, with and without a change. */
  readonly goals: { readonly unchanged: number; readonly changed: number };
}

const directory = makeGround();
const random = numbers();
const worlds = [await makeRepositories(), await makeStores()];
for (const { config, units } of worlds) await sweep(config, units);
await delay(restMs);
for (const { config, units } of worlds) await sweep(config, units);
for (let round = 0; round < rounds; round++) {
  for (const world of worlds) {
    await sweepInto(world, world.unchanged);
    const du = await timedProcessor('du', ['-s', world.root]);
    world.walked.ms.push(du.ms);
    world.walked.processorMs.push(du.processorMs);
    if (pduVersion !== null) {
      const pdu = await timedPdu([world.root], workers);
      world.walkedByMany.ms.push(pdu.ms);
      world.walkedByMany.processorMs.push(pdu.processorMs);
    }
    tell(`${world.what} unchanged: ${seconds(world.unchanged.ms.at(-1) ?? 0)}, du ${seconds(du.ms)}`);
  }
}
for (let round = 0; round < changedRounds; round++) {
  for (const world of worlds) {
    const many = Math.ceil(world.units * changedShare);
    for (let each = 0; each < many; each++) world.change(round * many + each);
    await sweepInto(world, world.changed);
    tell(`${world.what} with ${many} changed: ${seconds(world.changed.ms.at(-1) ?? 0)}`);
  }
  if (round + 1 === changedRounds) break;
  await delay(restMs);
  for (const { config, units } of worlds) await sweep(config, units);
}
for (const { daemon } of worlds) await daemon.stop();

print({
  title: 'A sweep in which little has changed',
  how: `${count(owners * repositoriesEach)} repositories, and the LFS stores of ${storeOwners} owners. The daemon, with ${workers} walkers, is asked by \`softquota scan\`; its own time counts, from the beginning of the sweep until all sizes are kept. du is one thread${pduVersion === null ? '' : `, ${pduVersion} has ${workers}`}. Caches are warm; all had been at rest for a minute. ${rounds} rounds in turn without a change, then ${changedRounds} in which a unit in a hundred had changed.`,
  figures: worlds.flatMap(({ what, unchanged, changed, walked, walkedByMany, goals }) => [
    ...beside(`${what}, nothing changed`, unchanged, '`du -s`', walked),
    ...besideMany(`${what}, nothing changed`, unchanged, walkedByMany, goals.unchanged),
    ...beside(`${what}, 1 % changed`, changed, '`du -s`', walked),
    ...besideMany(`${what}, 1 % changed`, changed, walkedByMany, goals.changed),
  ]),
});

function beside(what: string, ours: Side, program: string, theirs: Side): Figure[] {
  return (['ms', 'processorMs'] as const).map(key => ({
    what: `${what}: ${key === 'ms' ? 'time' : 'processor time'}`,
    ours: spread(ours[key], seconds),
    instead: `${program} ${spread(theirs[key], seconds)}`,
    ratio: ratioOf(ours[key], theirs[key]),
    goal: null,
  }));
}

function besideMany(what: string, ours: Side, pdu: Side, times: number): Figure[] {
  if (pduVersion === null) return [];
  const reason =
    'finding the units, a thread that answers, and a store that keeps all figures take longer than comparing what there is.';
  return beside(what, ours, '`pdu`', pdu).map((figure, index) => {
    const goal = { words: `${times} times quicker`, met: (figure.ratio ?? 1) <= 1 / times, reason };
    return index === 0 ? { ...figure, goal } : figure;
  });
}

async function sweepInto({ config, units, daemon }: World, side: Side): Promise<void> {
  const before = processorMs(daemon.pid);
  const { started_at: startedAt, finished_at: finishedAt } = await sweep(config, units);
  side.ms.push(Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? ''));
  side.processorMs.push(processorMs(daemon.pid) - before);
}

async function begin(what: string, ini: (root: string) => string, make: (made: Made, root: string) => void) {
  const folder = join(directory, what);
  const root = join(folder, 'storage');
  mkdirSync(root, { recursive: true });
  const made = new Made();
  make(made, root);
  tell(`${what}: ${count(made.entries)} entries made`);
  const config = writeConfig(folder, `WORKERS = ${workers}\n\n${ini(root)}\n`);
  const side = (): Side => ({ ms: [], processorMs: [] });
  const sides = { unchanged: side(), changed: side(), walked: side(), walkedByMany: side() };
  return { what, root, config, daemon: await startDaemon(config), ...sides };
}

async function makeRepositories(): Promise<World> {
  const begun = await begin(
    'repositories',
    root => `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`,
    (made, root) => {
      for (let owner = 0; owner < owners; owner++) {
        made.directory(`${root}/owner-${owner}`);
        for (let each = 0; each < repositoriesEach; each++)
          makeRepository(made, `${root}/owner-${owner}/project-${each}.git`, looseObjects, random);
      }
    },
  );
  const change = (each: number): void => {
    const repository = `${begun.root}/owner-${each % owners}/project-${each % repositoriesEach}.git`;
    // Changes the repository as a push does.
    const quarantine = `${repository}/objects/tmp_objdir-incoming-${each}`;
    mkdirSync(quarantine);
    const fanOut = readdirSync(`${repository}/objects`).find(name => /^[0-9a-f]{2}$/.test(name)) ?? '00';
    writeFileSync(`${repository}/objects/${fanOut}/${each.toString(16).padStart(38, '0')}`, 'x');
    rmdirSync(quarantine);
  };
  return { ...begun, units: owners * repositoriesEach, change, goals: { unchanged: 20, changed: 8 } };
}

async function makeStores(): Promise<World> {
  const begun = await begin(
    'stores',
    root => `[storage.lfs]\nPATH = ${root}/{owner}\n`,
    (made, root) => {
      for (let owner = 0; owner < storeOwners; owner++)
        makeLfsStore(made, `${root}/owner-${owner}`, lfsObjects, random);
    },
  );
  const change = (each: number): void =>
    writeFileSync(`${begun.root}/owner-${each % storeOwners}/new-${each}`, 'x');
  return { ...begun, units: storeOwners, change, goals: { unchanged: 4, changed: 4 } };
}
