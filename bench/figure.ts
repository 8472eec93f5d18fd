/** Claim: the new figure of a repository is there as soon as a push into it has ended. */

import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { scan, startDaemon } from './daemon.ts';
import { count, type Figure, median, milliseconds, percentile, print, spread, tell } from './figures.ts';
import { Made, makeBareRepository, makeGround, writeConfig } from './ground.ts';
import { timed } from './processes.ts';
import { putHooks } from './target.ts';
import { figureIs } from './usage.ts';

/** They push in turn, each into a repository of its own. */
const pushers = 5;
const pushesEach = 40;
const filesEach = { 'a commit of one file': 1, 'a commit of 150 files, as a pack': 150 } as const;
const neighbours = [10, 10_000] as const;
const goalMs = 15;
const mostMs = 50;

type What = keyof typeof filesEach;
const whats = Object.keys(filesEach) as What[]; // the keys are known where they are written

const directory = makeGround();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const figures: Figure[] = [];
for (const others of neighbours) {
  const folder = join(directory, String(others));
  const root = join(folder, 'git');
  mkdirSync(join(root, 'other'), { recursive: true });
  const made = new Made();
  for (let each = 0; each < others; each++) makeBareRepository(made, join(root, 'other', `${each}.git`));
  for (let at = 0; at < whats.length * pushers; at++) {
    mkdirSync(join(root, `pusher-${at}`));
    await git('init', '-q', '--bare', '-b', 'main', targetOf(root, at));
    await git('-C', targetOf(root, at), 'config', 'receive.autogc', 'false');
  }
  const trusted = join(folder, 'data/trusted.sock');
  const config = writeConfig(
    folder,
    `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n\n[server]\nTRUSTED_SOCKET = ${trusted}\n`,
  );
  const daemon = await startDaemon(config);
  await scan(config, others + whats.length * pushers);
  for (const [first, what] of whats.entries()) {
    const numbers = Array.from({ length: pushers }, (_, each) => first * pushers + each);
    for (const at of numbers) await beginAt(targetOf(root, at), workOf(folder, at), daemon.socket);
    const times: number[] = [];
    for (let push = 0; push < pushers * pushesEach; push++) {
      const at = numbers[push % pushers] ?? 0;
      const work = workOf(folder, at);
      for (let file = 0; file < filesEach[what]; file++)
        writeFileSync(join(work, `file-${file}`), `number ${push} of ${file}\n`);
      await git('-C', work, 'add', '-A');
      await git('-C', work, 'commit', '-q', '-m', `number ${push}`);
      await git('-C', work, 'push', '-q', 'origin', 'HEAD:main');
      const ended = performance.now();
      const bytes = bytesIn(targetOf(root, at));
      const counted = performance.now();
      await figureIs(agent, trusted, `pusher-${at}`, bytes);
      // Adding up what is there is none of the daemon's time.
      times.push(Math.max(0, performance.now() - ended - (counted - ended)));
    }
    tell(
      `${what} beside ${others}: ${milliseconds(median(times))}, p99 ${milliseconds(percentile(times, 99))}`,
    );
    figures.push({
      what: `${what}, beside ${count(others)} other repositories`,
      ours: `${spread(times, milliseconds)}, p99 ${milliseconds(percentile(times, 99))}`,
      instead: '',
      ratio: null,
      goal: {
        words: `median under ${goalMs} ms, p99 under ${mostMs} ms`,
        met: median(times) < goalMs && percentile(times, 99) < mostMs,
        reason: 'the host had other work.',
      },
    });
  }
  await daemon.stop();
}
agent.destroy();
print({
  title: 'From the end of a push to the new figure',
  how: `${pushers * pushesEach} pushes each, into ${pushers} repositories in turn, with both hooks; from the exit of \`git push\` until the gate answers with the bytes that are there, without the time in which the bench adds these up itself.`,
  figures,
});

/** Installs the hooks, and makes the clone that is pushed from. */
async function beginAt(target: string, work: string, socket: string): Promise<void> {
  await putHooks(target, socket);
  await git('clone', '-q', target, work);
  await git('-C', work, 'config', 'user.name', 'bench');
  await git('-C', work, 'config', 'user.email', 'bench@git.example');
}

function workOf(folder: string, at: number): string {
  return join(folder, `work-${at}`);
}

function targetOf(root: string, at: number): string {
  return join(root, `pusher-${at}`, 'project.git');
}

async function git(...args: string[]): Promise<void> {
  await timed('git', args);
}

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
