/** Claim: a push takes at most 15 ms more with the hooks than without any. */

import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installHooks } from '../src/githooks/index.ts';
import { scan, startDaemon } from './daemon.ts';
import { count, type Figure, median, milliseconds, print, spread, tell } from './figures.ts';
import { Made, makeGround, makeRepository, numbers, writeConfig } from './ground.ts';
import { timed } from './processes.ts';

const pushes = 30;
const warmUps = 3;
const goalMs = 15;
/** Repositories of an owner beside the one that is pushed to, some 155 entries each. */
const neighbours = { few: 8, many: 320 } as const;

type Neighbours = keyof typeof neighbours;

const directory = makeGround();
const root = join(directory, 'git');
const work = join(directory, 'work');
const made: Record<Neighbours, Made> = { few: new Made(), many: new Made() };
mkdirSync(root);
for (const owner of ['few', 'many'] as const) {
  const random = numbers();
  mkdirSync(join(root, owner));
  for (let each = 0; each < neighbours[owner]; each++)
    makeRepository(made[owner], join(root, owner, `project-${each}.git`), 62, random);
}
const commits = await makeCommits();
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);

/** What a repository is pushed to with, by the names of the hooks. */
const variants = {
  none: await makeTarget('none', 'many'),
  asks: await makeTarget('asks', 'many', asksOnly),
  both: await makeTarget('both', 'many', installed),
  duFew: await makeTarget('du', 'few', addsUp),
  duMany: await makeTarget('du', 'many', addsUp),
};
type Variant = keyof typeof variants;
const names = Object.keys(variants) as Variant[]; // the keys are known where they are written
const times: Record<Variant, number[]> = { none: [], asks: [], both: [], duFew: [], duMany: [] };

await scan(config, neighbours.few + neighbours.many + names.length);
for (const [number, commit] of commits.entries()) {
  // Each round begins with another one, so that what a push leaves behind meets all alike.
  for (const index of names.keys()) {
    const name = names[(index + number) % names.length] ?? 'none';
    const ms = await push(variants[name], commit);
    if (number >= warmUps) times[name].push(ms);
  }
}
await daemon.stop();
tell(names.map(name => `push ${name} ${milliseconds(median(times[name]))}`).join(', '));

print({
  title: 'A push',
  how: `A commit of one small file, pushed to a bare repository on the same host, from the start of \`git push\` to its end; ${pushes} pushes each, in turn. In brackets after a median: the smallest and largest. The other hook is a pre-receive as people write it, which adds up the owner's directory with \`du -sk\` and compares.`,
  figures: [
    beside('pre-receive', 'asks', 'none'),
    beside('pre-receive and post-receive', 'both', 'none'),
    beside(`the same, du adding up ${count(made.few.entries)} entries`, 'both', 'duFew'),
    beside(`the same, du adding up ${count(made.many.entries)} entries`, 'both', 'duMany'),
  ],
});

function beside(what: string, ours: Variant, theirs: Variant): Figure {
  // Of all pairs of a round: noise that meets both falls out.
  const extra = median(times[ours].map((ms, round) => ms - (times[theirs][round] ?? Number.NaN)));
  const goal = {
    words: `at most ${goalMs} ms more (${extra.toFixed(1)} ms)`,
    met: extra <= goalMs,
    reason:
      'starting programs is what a hook takes its time for: the shell, one git for the settings, and curl.',
  };
  return {
    what,
    ours: spread(times[ours], milliseconds),
    instead: `${theirs === 'none' ? 'no hook' : 'du in the hook'} ${spread(times[theirs], milliseconds)}`,
    ratio: median(times[ours]) / median(times[theirs]),
    goal: theirs === 'none' ? goal : null,
  };
}

async function git(...args: string[]): Promise<string> {
  return (await timed('git', args)).stdout.trim();
}

/** A line of commits in a clone, the oldest first. */
async function makeCommits(): Promise<string[]> {
  await git('init', '-q', '-b', 'main', work);
  await git('-C', work, 'config', 'user.name', 'bench');
  await git('-C', work, 'config', 'user.email', 'bench@git.example');
  await git('-C', work, 'config', 'gc.auto', '0');
  const made: string[] = [];
  for (let each = 0; each < warmUps + pushes; each++) {
    writeFileSync(join(work, `file-${each}`), `number ${each}\n`);
    await git('-C', work, 'add', '-A');
    await git('-C', work, 'commit', '-q', '-m', `number ${each}`);
    made.push(await git('-C', work, 'rev-parse', 'HEAD'));
  }
  return made;
}

async function makeTarget(
  name: string,
  owner: Neighbours,
  putHooks?: (target: string) => void | Promise<void>,
): Promise<string> {
  const target = join(root, owner, `target-${name}.git`);
  await git('init', '-q', '--bare', '-b', 'main', target);
  await git('-C', target, 'config', 'receive.autogc', 'false');
  rmSync(join(target, 'hooks'), { recursive: true });
  mkdirSync(join(target, 'hooks'));
  await putHooks?.(target);
  return target;
}

async function installed(target: string): Promise<void> {
  const { repositories } = await installHooks([target], { socket: daemon.socket });
  const [result] = repositories;
  if (result === undefined || 'fault' in result) throw new Error(`the hooks are not in: ${result?.fault}`);
}

async function asksOnly(target: string): Promise<void> {
  await installed(target);
  rmSync(join(target, 'hooks/post-receive'));
}

function addsUp(target: string): void {
  const hook = join(target, 'hooks/pre-receive');
  writeFileSync(
    hook,
    `#!/bin/sh
limit=1000000000
used=$(du -sk .. | cut -f1)
if [ "$used" -gt "$limit" ]; then
	echo "quota exceeded: $used of $limit kB" >&2
	exit 1
fi
`,
  );
  chmodSync(hook, 0o755);
}

/** One push, which must pass, and be asked about where it has a hook. */
async function push(target: string, commit: string): Promise<number> {
  const { ms, stderr } = await timed('git', ['-C', work, 'push', '-q', target, `${commit}:refs/heads/main`]);
  if (stderr !== '') throw new Error(`a push was not let through in silence: ${stderr}`);
  return ms;
}
