/** Claim: a push takes at most 15 ms more with the hooks than without any. */

import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scan, startDaemon } from './daemon.ts';
import { count, type Figure, median, milliseconds, print, spread, tell } from './figures.ts';
import { Made, makeGround, makeRepository, numbers, writeConfig } from './ground.ts';
import { makeCommits, makeTarget, pushTo, putHooks } from './target.ts';

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
const commits = await makeCommits(work, warmUps + pushes);
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);

/** What a repository is pushed to with, by the names of the hooks. */
const variants = {
  none: await targetOf('none', 'many'),
  asks: await targetOf('asks', 'many', asksOnly),
  both: await targetOf('both', 'many', installed),
  duFew: await targetOf('du', 'few', addsUp),
  duMany: await targetOf('du', 'many', addsUp),
};
type Variant = keyof typeof variants;
const names = Object.keys(variants) as Variant[]; // the keys are known where they are written
const times: Record<Variant, number[]> = { none: [], asks: [], both: [], duFew: [], duMany: [] };

await scan(config, neighbours.few + neighbours.many + names.length);
for (const [number, commit] of commits.entries()) {
  // Each round begins with another one, so that what a push leaves behind meets all alike.
  for (const index of names.keys()) {
    const name = names[(index + number) % names.length] ?? 'none';
    const ms = await pushTo(variants[name], work, commit);
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
    reason: 'starting programs is what a hook takes its time for: the shell, and the program that asks.',
  };
  return {
    what,
    ours: spread(times[ours], milliseconds),
    instead: `${theirs === 'none' ? 'no hook' : 'du in the hook'} ${spread(times[theirs], milliseconds)}`,
    ratio: median(times[ours]) / median(times[theirs]),
    goal: theirs === 'none' ? goal : null,
  };
}

async function targetOf(
  name: string,
  owner: Neighbours,
  put?: (target: string) => void | Promise<void>,
): Promise<string> {
  const target = await makeTarget(join(root, owner, `target-${name}.git`));
  await put?.(target);
  return target;
}

function installed(target: string): Promise<void> {
  return putHooks(target, daemon.socket);
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
