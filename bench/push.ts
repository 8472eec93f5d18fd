/** Claim: a hook takes little more than the shell and the programs that it starts, and so does a push. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scan, startDaemon } from './daemon.ts';
import { count, type Figure, milliseconds, print, ratioOf, spread } from './figures.ts';
import { Made, makeGround, makeRepository, numbers, writeConfig } from './ground.ts';
import { timed } from './processes.ts';
import { makeCommits, makeTarget, pushTo, putHooks, writeHook } from './target.ts';

const rounds = 30;
const warmUps = 2;
/** Runs of a hook in a row. */
const runs = 20;
/** Repositories of the owner beside those that are pushed to, some 155 entries each. */
const neighbours = 320;
const mostByNc = 7;
const mostOfPush = 1.25;
const quarantine = 'objects/tmp_objdir-incoming-bench1';

const directory = makeGround();
const owner = join(directory, 'git/alice');
const work = join(directory, 'work');
mkdirSync(owner, { recursive: true });
const made = new Made();
const random = numbers();
for (let each = 0; each < neighbours; each++)
  makeRepository(made, join(owner, `project-${each}.git`), 62, random);
const commits = await makeCommits(work, warmUps + rounds);
const config = writeConfig(directory, `[storage.repos]\nPATH = ${directory}/git/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);

/** Repositories by the hooks that they have, and the times of these hooks alone and of pushes. */
const targets = {
  none: await makeTarget(join(owner, 'none.git')),
  empty: await withHooks('empty', 'exit 0'),
  nc: await installed('nc'),
  curl: await installed('curl'),
  du: await withHooks('du', '[ "$(du -sk .. | cut -f1)" -le 1000000000 ] || exit 1'),
};
type Name = keyof typeof targets;
const names = Object.keys(targets) as Name[]; // the keys are known where they are written
const hookMs = timesOfEach();
const pushMs = timesOfEach();

await scan(config, neighbours + names.length);
for (const [round, commit] of commits.entries()) {
  // Each round begins with another one, so that what a push leaves behind meets all alike.
  for (const index of names.keys()) {
    const name = names[(index + round) % names.length] ?? 'none';
    const pushed = await pushTo(targets[name], work, commit);
    const alone = name === 'none' || name === 'du' ? null : await runHook(targets[name]);
    if (round < warmUps) continue;
    pushMs[name].push(pushed);
    if (alone !== null) hookMs[name].push(alone);
  }
}
await daemon.stop();

print({
  title: 'A push',
  how: `pre-receive by itself, from its start to its end, with a quarantine of one pack, ${rounds} times ${runs} runs in a row; and a push of a small commit to a bare repository on the same host, ${rounds} times; in turn, all in one run. Empty hooks are shell scripts that do nothing. The hook with du is a pre-receive as people write it, which adds up the owner's directory with \`du -sk\` and compares.`,
  figures: [
    beside('the hook by nc', hookMs, 'nc', 'empty', mostByNc),
    beside('the hook by curl', hookMs, 'curl', 'empty'),
    beside('a push with both hooks, by nc', pushMs, 'nc', 'empty', mostOfPush),
    beside('a push with both hooks, by curl', pushMs, 'curl', 'empty'),
    beside('the same by nc', pushMs, 'nc', 'none'),
    beside(`the same by nc, du adding up ${count(made.entries)} entries`, pushMs, 'nc', 'du'),
  ],
});

function timesOfEach(): Record<Name, number[]> {
  return { none: [], empty: [], nc: [], curl: [], du: [] };
}

function beside(
  what: string,
  times: Record<Name, number[]>,
  ours: Name,
  theirs: Name,
  most?: number,
): Figure {
  const ratio = ratioOf(times[ours], times[theirs]);
  const others = { none: 'no hook', empty: 'empty hook', nc: '', curl: '', du: 'du in the hook' };
  return {
    what,
    ours: spread(times[ours], milliseconds),
    instead: `${others[theirs]} ${spread(times[theirs], milliseconds)}`,
    ratio,
    goal:
      most === undefined
        ? null
        : {
            words: `at most ${most} times`,
            met: ratio <= most,
            reason: 'starting programs is what a hook takes its time for.',
          },
  };
}

async function withHooks(name: string, body: string): Promise<string> {
  const target = await makeTarget(join(owner, `${name}.git`));
  writeHook(target, 'pre-receive', body);
  writeHook(target, 'post-receive', 'exit 0');
  return withQuarantine(target);
}

async function installed(client: string): Promise<string> {
  const target = await makeTarget(join(owner, `${client}.git`));
  await putHooks(target, config, { options: ['--client', client] });
  return withQuarantine(target);
}

/** Makes the quarantine about which the hook alone asks. */
function withQuarantine(target: string): string {
  const pack = join(target, quarantine, 'pack');
  mkdirSync(pack, { recursive: true });
  writeFileSync(join(pack, 'pack-1.pack'), 'x'.repeat(1000));
  return target;
}

/** Runs the target's pre-receive as git does; it must let the push through, and say nothing. */
async function runHook(target: string): Promise<number> {
  const script = `cd "$1" && export GIT_QUARANTINE_PATH="$1/$2" && n=0
while [ $n -lt ${runs} ]; do
	printf '%s\\n' "$3" | hooks/pre-receive || exit 1
	n=$((n + 1))
done`;
  const line = `${'1'.repeat(40)} ${'2'.repeat(40)} refs/heads/main`;
  const { ms, stderr } = await timed('sh', ['-c', script, 'sh', target, quarantine, line]);
  if (stderr !== '') throw new Error(`the hook of ${target} said: ${stderr}`);
  return ms / runs;
}
