/**
 * Claim: the new figure of a repository is there as soon as a push into it has ended.
 *
 * `SOFTQUOTA_BEFORE=FOLDER` names a checkout of an earlier commit, with its packages and built: its daemon
 * and its hooks are measured in turn with this tree's.
 */

import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Server, softquota, startServer } from './daemon.ts';
import {
  alone,
  count,
  type Figure,
  median,
  milliseconds,
  percentile,
  print,
  ratioOf,
  spread,
} from './figures.ts';
import { Made, makeBareRepository, makeGround, writeConfig } from './ground.ts';
import { timed } from './processes.ts';
import { agent, answerOf } from './questions.ts';
import { commitFiles, makeCommits, makeTarget, pushTo, putHooks } from './target.ts';

const patienceMs = 10_000;
/** Owners who push in turn, each into a repository of its own. */
const pushers = 5;
const pushesEach = 20;
const filesEach = { 'a commit of one file': 1, 'a commit of 150 files, as a pack': 150 } as const;
const neighbours = 1000;
const goalMs = 15;
const mostMs = 50;

interface Side {
  readonly root: string;
  readonly trusted: string;
  readonly daemon: Server;
}

const directory = makeGround();
const ours = await startSide('ours', softquota);
const before = process.env.SOFTQUOTA_BEFORE;
const theirs = before === undefined ? null : await startSide('before', join(before, 'scripts/built.js'));

for (let each = 0; each < pushers; each++) await makeCommits(workOf(`pusher-${each}`), 1);
const figures: Figure[] = [];
let commits = 0;
for (const [what, files] of Object.entries(filesEach)) {
  const [times, earlier]: [number[], number[]] = [[], []];
  for (let push = 0; push < pushers * pushesEach; push++) {
    commits += 1;
    const pusher = `pusher-${push % pushers}`;
    const commit = await commitFiles(workOf(pusher), files, commits);
    const sides = [[ours, times] as const, ...(theirs === null ? [] : [[theirs, earlier] as const])];
    for (const [side, taken] of push % 2 === 0 ? sides : sides.toReversed())
      taken.push(await msUntilFigure(side, pusher, commit));
  }
  figures.push(figureOf(what, times, earlier));
}
await ours.daemon.stop();
await theirs?.daemon.stop();
agent.destroy();
print({
  title: 'From the end of a push to the new figure',
  how: `${pushers * pushesEach} pushes each, into ${pushers} repositories in turn, with both hooks, beside ${count(neighbours)} other repositories; from the exit of \`git push\` until the gate answers with the bytes that are there, without the time in which the bench adds these up itself. A tree of before, if one was named, in turn with this one.`,
  figures,
});

function figureOf(what: string, times: readonly number[], earlier: readonly number[]): Figure {
  const shown = (all: readonly number[]) =>
    `${spread(all, milliseconds)}, p99 ${milliseconds(percentile(all, 99))}`;
  const reason = 'the host had other work.';
  if (theirs === null) {
    const met = median(times) < goalMs && percentile(times, 99) < mostMs;
    const words = `median under ${goalMs} ms, p99 under ${mostMs} ms`;
    return alone(what, shown(times), { words, met, reason });
  }
  const ratio = ratioOf(times, earlier);
  const goal = { words: 'no later', met: ratio <= 1, reason };
  return { what, ours: shown(times), instead: `before ${shown(earlier)}`, ratio, goal };
}

/** Starts a daemon on a ground of its own, and puts its hooks into the repositories of the pushers. */
async function startSide(name: string, program: string): Promise<Side> {
  const folder = join(directory, name);
  const root = join(folder, 'git');
  mkdirSync(join(root, 'other'), { recursive: true });
  const made = new Made();
  for (let each = 0; each < neighbours; each++) makeBareRepository(made, join(root, 'other', `${each}.git`));
  const config = writeConfig(folder, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
  for (let each = 0; each < pushers; each++) {
    mkdirSync(join(root, `pusher-${each}`));
    await makeTarget(targetOf(root, `pusher-${each}`));
  }
  const socket = join(folder, 'data/gate.sock');
  const daemon = await startServer([program, 'serve', '--config', config], socket, '/healthz');
  for (let each = 0; each < pushers; each++)
    await putHooks(targetOf(root, `pusher-${each}`), config, { program });
  await timed(process.execPath, [program, 'scan', '--verify', '--config', config]);
  return { root, trusted: join(folder, 'data/trusted.sock'), daemon };
}

async function msUntilFigure({ root, trusted }: Side, pusher: string, commit: string): Promise<number> {
  const target = targetOf(root, pusher);
  await pushTo(target, workOf(pusher), commit);
  const bytes = bytesIn(target);
  // Adding up is none of the daemon's time.
  const added = performance.now();
  await figureIs(trusted, pusher, bytes);
  return performance.now() - added;
}

function workOf(pusher: string): string {
  return join(directory, `work-${pusher}`);
}

function targetOf(root: string, pusher: string): string {
  return join(root, pusher, 'project.git');
}

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** Asks without a pause until an owner has so many bytes; rejects where that takes too long. */
async function figureIs(socket: string, owner: string, bytes: number): Promise<void> {
  const begun = performance.now();
  for (;;) {
    const { text } = await answerOf(socket, `/v1/usage?owner=${owner}`);
    if (text.includes(`:${bytes}`)) return;
    if (performance.now() - begun > patienceMs) throw new Error(`${owner} has not ${bytes} bytes: ${text}`);
  }
}
