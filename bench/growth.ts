/** Claim: with ten times the owners, repositories and entries a walk takes ten times as long, and all else as before. */

import { appendFileSync, mkdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { type Asked, ask } from './asking.ts';
import { type Server, scan, startDaemon } from './daemon.ts';
import {
  count,
  type Figure,
  median,
  milliseconds,
  perSecond,
  print,
  seconds,
  spread,
  tell,
} from './figures.ts';
import { Made, makeGround, makeRepository, numbers, writeConfig } from './ground.ts';
import { processorMs } from './processes.ts';
import { figureIs, tellChanged } from './usage.ts';

const ownersBefore = 400;
const looseObjects = 62;
const rounds = 5;
const askedMs = 1500;
const changesEach = 40;

const directory = makeGround();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

interface World {
  readonly owners: number;
  readonly made: Made;
  readonly config: string;
  readonly trusted: string;
  readonly daemon: Server;
  readonly bytes: Map<string, number>;
  readonly repositoryOf: (owner: string) => string;
  readonly walks: number[];
  readonly walksProcessor: number[];
  readonly asked: Asked[];
  readonly changes: number[];
}

const small = await open(ownersBefore);
const large = await open(10 * ownersBefore);
for (let round = 0; round < rounds; round++) {
  for (const world of [small, large]) {
    await walkInto(world);
    world.asked.push(await askOwners(world));
    for (let each = 0; each < changesEach; each++)
      await changeInto(world, `owner-${round * changesEach + each}`);
    tell(`${count(world.owners)} owners: ${seconds(world.walks.at(-1) ?? 0)} a walk`);
  }
}
for (const { daemon } of [small, large]) await daemon.stop();
agent.destroy();

const checksEach = ({ asked }: World) => asked.map(({ perSecond: rate, serverLoad }) => rate / serverLoad);
print({
  title: 'Growth',
  how: `${count(small.made.entries)} and ${count(large.made.entries)} entries: a repository each of ${count(small.owners)} and of ${count(large.owners)} owners, on two daemons that are measured in turn, ${rounds} rounds. A walk reads everything; checks ask by path, in words, about ${ownersBefore} owners over 16 kept connections for ${askedMs / 1000} s, and what counts is how many there are for each second of the server's processor time; a targeted walk begins when post-receive's word is sent and ends when the gate answers with the new bytes, ${changesEach} of them a round.`,
  figures: [
    beside(
      'a full walk',
      ({ walks }) => walks,
      seconds,
      'at most 11 times as long',
      ratio => ratio <= 11,
    ),
    beside('its processor time', ({ walksProcessor }) => walksProcessor, seconds),
    beside('checks', checksEach, perSecond, 'as before within 20 %', isSame),
    beside('a targeted walk', ({ changes }) => changes, milliseconds, 'as before within 20 %', isSame),
  ],
});

function isSame(ratio: number): boolean {
  return ratio >= 0.8 && ratio <= 1.2;
}

function beside(
  what: string,
  of: (world: World) => readonly number[],
  shown: (value: number) => string,
  words?: string,
  isMet: (ratio: number) => boolean = () => true,
): Figure {
  const [ours, before] = [of(large), of(small)];
  const ratio = median(ours) / median(before);
  const goal = words === undefined ? null : { words, met: isMet(ratio), reason: 'the host had other work.' };
  const many = (world: World) => `${count(world.owners)} owners`;
  return {
    what: `${what}, ${many(large)}`,
    ours: spread(ours, shown),
    instead: `${many(small)} ${spread(before, shown)}`,
    ratio,
    goal,
  };
}

async function open(owners: number): Promise<World> {
  const folder = join(directory, String(owners));
  const root = join(folder, 'git');
  mkdirSync(root, { recursive: true });
  const random = numbers();
  const all = new Made();
  const bytes = new Map<string, number>();
  const repositoryOf = (owner: string) => `${root}/${owner}/project.git`;
  for (let each = 0; each < owners; each++) {
    const owner = `owner-${each}`;
    const before = all.bytes;
    all.directory(join(root, owner));
    makeRepository(all, repositoryOf(owner), looseObjects, random);
    bytes.set(owner, all.bytes - before);
  }
  const trusted = join(folder, 'data/trusted.sock');
  const ini = `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n\n[server]\nTRUSTED_SOCKET = ${trusted}\n`;
  const config = writeConfig(folder, ini);
  const daemon = await startDaemon(config);
  await scan(config, owners);
  const figures = { walks: [], walksProcessor: [], asked: [], changes: [] };
  return { owners, made: all, config, trusted, daemon, bytes, repositoryOf, ...figures };
}

async function walkInto({ config, owners, daemon, walks, walksProcessor }: World): Promise<void> {
  const before = processorMs(daemon.pid);
  const { started_at: startedAt, finished_at: finishedAt } = await scan(config, owners);
  walks.push(Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? ''));
  walksProcessor.push(processorMs(daemon.pid) - before);
}

function askOwners({ daemon, owners, repositoryOf }: World): Promise<Asked> {
  const addresses = Array.from({ length: ownersBefore }, (_, at) => {
    const owner = `owner-${Math.floor((at * owners) / ownersBefore)}`;
    return `/v1/check?path=${repositoryOf(owner)}`;
  });
  return ask({ ...daemon, addresses, accept: 'text/plain', connection: 'kept', milliseconds: askedMs });
}

async function changeInto(
  { trusted, daemon, bytes, repositoryOf, changes }: World,
  owner: string,
): Promise<void> {
  const added = 'a line\n';
  appendFileSync(`${repositoryOf(owner)}/description`, added);
  const total = (bytes.get(owner) ?? 0) + added.length;
  const begun = performance.now();
  await tellChanged(agent, daemon.socket, repositoryOf(owner));
  await figureIs(agent, trusted, owner, total);
  changes.push(performance.now() - begun);
}
