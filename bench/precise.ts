/** Claim: `PRECISE = true` makes a push of 50 MB less than 1 % longer. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scan, startDaemon } from './daemon.ts';
import { type Figure, median, milliseconds, print, seconds, spread, tell } from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { timed } from './processes.ts';
import { makeCommits, makeTarget, pushTo, putHooks } from './target.ts';

const pushBytes = 50_000_000;
const rounds = 8;
const hookRounds = 60;
const goalPercent = 1;

const ground = makeGround();
const work = join(ground, 'work');
await makeCommits(work, 1);
writeFileSync(join(work, 'large'), randomBytes(pushBytes));
for (const args of [
  ['add', '-A'],
  ['commit', '-q', '-m', 'large'],
  ['repack', '-adq'],
]) {
  await timed('git', ['-C', work, ...args]);
}
const { stdout: head } = await timed('git', ['-C', work, 'rev-parse', 'HEAD']);
const commit = head.trim();

const ways = ['off', 'on'] as const;
type Way = (typeof ways)[number];

const daemons = { off: await begin('off', ''), on: await begin('on', '[quota]\nPRECISE = true\n') };
const pushMs: Record<Way, number[]> = { off: [], on: [] };
const hookMs: Record<Way, number[]> = { off: [], on: [] };

for (let round = 0; round < rounds; round++) {
  for (const way of inTurn(round)) {
    const target = await newTarget(way, `push-${round}`);
    const ms = await pushTo(target, work, commit);
    // The first of each is for the caches.
    if (round > 0) pushMs[way].push(ms);
  }
}
const targets = { off: await newTarget('off', 'hook'), on: await newTarget('on', 'hook') };
for (let round = 0; round < hookRounds; round++) {
  for (const way of inTurn(round)) hookMs[way].push(await hookAlone(targets[way]));
}
for (const way of ways) await daemons[way].stop();
tell(ways.map(way => `push ${way} ${milliseconds(median(pushMs[way]))}`).join(', '));
tell(ways.map(way => `pre-receive ${way} ${milliseconds(median(hookMs[way]))}`).join(', '));

/** Of all pairs of a round: noise that meets both falls out. */
const moreMs = median(hookMs.on.map((ms, round) => ms - (hookMs.off[round] ?? Number.NaN)));
const percent = (100 * moreMs) / median(pushMs.off);

print({
  title: 'PRECISE',
  how: `A commit with a file of 50 MB that cannot be compressed, pushed to a new bare repository on the same host, with both hooks; ${rounds - 1} pushes each, in turn, by a daemon with \`PRECISE = true\` and one without. A push of this size differs from the next by more than the hook takes, so pre-receive is also run alone on what git holds of such a push: ${hookRounds} times each, in turn.`,
  figures: [
    beside('a push of 50 MB', pushMs, seconds, null),
    beside('pre-receive alone, which measures', hookMs, milliseconds, {
      words: `below ${goalPercent} % of the push (${percent.toFixed(2)} %)`,
      met: percent < goalPercent,
      reason: 'the hook starts one more program.',
    }),
  ],
});

function beside(
  what: string,
  times: Readonly<Record<Way, readonly number[]>>,
  shown: (ms: number) => string,
  goal: Figure['goal'],
): Figure {
  return {
    what,
    ours: spread(times.on, shown),
    instead: `without PRECISE ${spread(times.off, shown)}`,
    ratio: median(times.on) / median(times.off),
    goal,
  };
}

function inTurn(round: number): readonly Way[] {
  return round % 2 === 0 ? ways : [...ways].reverse();
}

async function begin(way: Way, lines: string) {
  const directory = join(ground, way);
  mkdirSync(join(directory, 'git/alice'), { recursive: true });
  const storage = `[storage.repos]\nPATH = ${directory}/git/{owner}/{repo}.git\n`;
  const config = writeConfig(directory, storage + lines);
  const daemon = await startDaemon(config);
  await scan(config, 0);
  return daemon;
}

async function newTarget(way: Way, name: string): Promise<string> {
  const target = await makeTarget(join(ground, way, 'git/alice', `${name}.git`));
  await putHooks(target, daemons[way].socket);
  return target;
}

/** Milliseconds of a pre-receive beside what git holds of such a push: a pack, its index and its reverse index. */
async function hookAlone(target: string): Promise<number> {
  const held = join(target, 'objects/tmp_objdir-incoming-bench');
  mkdirSync(join(held, 'pack'), { recursive: true });
  const sizes = { pack: pushBytes, idx: 1268, rev: 80 } as const;
  for (const [kind, bytes] of Object.entries(sizes)) {
    const file = join(held, `pack/pack-${commit}.${kind}`);
    await timed('truncate', ['-s', String(bytes), file]);
  }
  const line = `${'0'.repeat(40)} ${commit} refs/heads/main`;
  const { ms } = await timed('sh', [
    '-c',
    `cd "$1" && export GIT_DIR=. GIT_QUARANTINE_PATH="$2" && printf '%s\\n' "$3" | hooks/pre-receive`,
    'sh',
    target,
    held,
    line,
  ]);
  return ms;
}
