/** What is stored beyond a limit that has room for three pushes, by how the pushes come. */

import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Clone } from '../test/e2e/clone.ts';
import { pushAndHangUp } from '../test/e2e/hang-up.ts';
import { must, run } from '../test/e2e/run.ts';
import { scan, startDaemon } from './daemon.ts';
import { count, type Figure, median, print, spread, tell } from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { putHooks } from './target.ts';

const pushes = 50;
const pushBytes = 1_000_000;
const roomFor = 3;
const limitBytes = (1 + roomFor) * pushBytes;
const rounds = 3;
const pushers = 6;
const pauseMs = 2000;
/** So many are enough to see that whoever makes a pause stays within the limit. */
const pushesWithPause = 8;

type Send = (target: string, commit: string, branch: string) => Promise<unknown>;

interface Way {
  readonly what: string;
  readonly pushes: number;
  readonly send: (target: string) => Promise<unknown>;
}

const directory = makeGround();
const root = join(directory, 'git');
mkdirSync(root);
const clone = await Clone.of({ folder: directory }, root);
const [first = '', ...commits] = await makeCommits();
const config = writeConfig(
  directory,
  `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`,
  String(limitBytes),
);
const daemon = await startDaemon(config);

const push: Send = (target, commit, branch) =>
  run('git', ['push', '-q', target, `${commit}:refs/heads/${branch}`], { cwd: clone.folder });
const hangUp: Send = (target, commit, branch) => pushAndHangUp(clone, target, commit, branch);
const ways: readonly Way[] = [
  {
    what: `one after the other, ${pauseMs / 1000} s between them`,
    pushes: pushesWithPause,
    send: target => inTurn(target, commits.slice(0, pushesWithPause), push, pauseMs),
  },
  { what: 'one after the other, no pause', pushes, send: target => inTurn(target, commits, push) },
  {
    what: `${pushers} pushers, no pause`,
    pushes,
    send: target =>
      Promise.all(
        Array.from({ length: pushers }, (_, pusher) =>
          inTurn(
            target,
            commits.filter((_, index) => index % pushers === pusher),
            push,
          ),
        ),
      ),
  },
  {
    what: 'all at once',
    pushes,
    send: target => Promise.all(commits.map(commit => push(target, commit, commit))),
  },
  {
    what: 'each client hangs up, no pause',
    pushes,
    send: target => inTurn(target, commits, hangUp),
  },
];

const figures: Figure[] = [];
let owners = 0;
for (const way of ways) {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await passedOf(way, installed));
    theirs.push(await passedOf(way, addsUp));
  }
  tell(`overshoot ${way.what}: ${ours.join(' ')} beside ${theirs.join(' ')}`);
  figures.push({
    what: `${way.what}: of ${way.pushes} pass; beyond the limit`,
    ours: shown(ours),
    instead: `du in the hook ${shown(theirs)}`,
    ratio: null,
    goal: null,
  });
}
await daemon.stop();
print({
  title: 'Beyond a limit',
  how: `Pushes of ${count(pushBytes / 1000)} kB that cannot be compressed, each a branch of its own, into a repository with room for ${roomFor} of them; ${rounds} rounds, each with a new repository. What passes is counted by the branches that are there afterwards. A limit is soft: what has begun below it ends. The other hook adds up the owner's directory with \`du -sk\` at each push.`,
  figures,
});

function shown(passed: readonly number[]): string {
  const beyond = (median(passed) - roomFor) * (pushBytes / 1e6);
  return `${spread(passed, count)}; ${Math.max(0, beyond).toFixed(0)} MB`;
}

async function inTurn(target: string, those: readonly string[], send: Send, restMs = 0): Promise<void> {
  for (const commit of those) {
    await send(target, commit, commit);
    if (restMs > 0) await delay(restMs);
  }
}

/** How many pushes of a way pass into a new repository of a new owner. */
async function passedOf(way: Way, putHook: (target: string) => unknown): Promise<number> {
  owners += 1;
  const target = join(root, `owner-${owners}`, 'project.git');
  await must('git', ['init', '-q', '--bare', '-b', 'main', target]);
  await push(target, first, 'main');
  rmSync(join(target, 'hooks'), { recursive: true });
  mkdirSync(join(target, 'hooks'));
  await putHook(target);
  await scan(config, owners);
  await way.send(target);
  const branches = await must('git', ['-C', target, 'for-each-ref', '--format=%(refname)', 'refs/heads']);
  return branches.split('\n').length - 1;
}

/** Commits that have nothing in common, each with a file of so many bytes. */
async function makeCommits(): Promise<string[]> {
  const made: string[] = [];
  for (let each = 0; each <= pushes; each++) {
    await clone.git('checkout', '-q', '--orphan', `branch-${each}`);
    await clone.git('rm', '-rfq', '--ignore-unmatch', '.');
    await clone.commit(pushBytes);
    made.push(await clone.git('rev-parse', 'HEAD'));
  }
  return made;
}

function installed(target: string): Promise<void> {
  return putHooks(target, daemon.socket);
}

function addsUp(target: string): void {
  const hook = join(target, 'hooks/pre-receive');
  const lines = ['#!/bin/sh', `[ "$(du -sk .. | cut -f1)" -le ${limitBytes / 1000} ] || exit 1`];
  writeFileSync(hook, `${lines.join('\n')}\n`);
  chmodSync(hook, 0o755);
}
