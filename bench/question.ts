/** Claim: the gate answers at least 0.3 times as many questions of pushes a second as checks by path. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Asked, type Asking, ask } from './asking.ts';
import { scan, startDaemon } from './daemon.ts';
import { type Figure, median, milliseconds, perSecond, print, ratioOf, spread } from './figures.ts';
import { makeGround, makeOwners, writeConfig } from './ground.ts';

/** Pushes under way at the same time, each into a repository of its own. */
const owners = 64;
const roundMs = 1500;
const rounds = 5;
/** V8 goes on optimizing for some seconds. */
const warmRounds = 4;
const leastRatio = 0.3;
const packBytes = 100_000;

const directory = makeGround();
const root = join(directory, 'git');
makeOwners(root, owners);
const repositories = Array.from({ length: owners }, (_, owner) => `${root}/owner-${owner}/project.git`);
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);
await scan(config, owners);
for (const repository of repositories) {
  const folder = join(quarantineOf(repository), 'pack');
  mkdirSync(folder, { recursive: true });
  for (const [ending, bytes] of [
    ['pack', packBytes],
    ['idx', 1200],
  ] as const)
    writeFileSync(join(folder, `pack-1.${ending}`), 'x'.repeat(bytes));
}

const { socket, pid } = daemon;
const asking = { socket, pid, accept: 'text/plain', milliseconds: roundMs } as const;
const checks = { addresses: repositories.map(path => `/v1/check?path=${path}`) };
// Each pair of hooks asks the same question of a repository, and the second gets the answer of the first.
const questions = {
  addresses: ['/v1/push'],
  bodies: [1, 2].flatMap(hook => repositories.map(repository => bodyOf(repository, hook))),
};
const figures = [...(await compare('each')), ...(await compare('kept'))];
await daemon.stop();
print({
  title: 'Questions of pushes',
  how: `\`POST /v1/push\` of pushes that are under way in ${owners} repositories, each with a quarantine of one pack of ${packBytes / 1000} kB, every question to be decided anew; beside checks by path of the same repositories. One process asks over 16 connections, ${rounds} rounds of ${roundMs / 1000} s in turn, after ${warmRounds} to warm up. Hooks have a connection each.`,
  figures,
});

/** The goal is for a connection each, as hooks have. */
async function compare(connection: Asking['connection']): Promise<Figure[]> {
  const [ours, theirs]: [Asked[], Asked[]] = [[], []];
  for (let round = -warmRounds; round < rounds; round++) {
    const asked = await ask({ ...asking, ...questions, connection });
    const checked = await ask({ ...asking, ...checks, connection });
    if (round < 0) continue;
    ours.push(asked);
    theirs.push(checked);
  }
  const p99 = (asked: readonly Asked[]) => milliseconds(median(asked.map(({ p99Ms }) => p99Ms)));
  const figure = (what: string, of: (asked: Asked) => number): Figure => ({
    what,
    ours: `${spread(ours.map(of), perSecond)}, p99 ${p99(ours)}`,
    instead: `checks ${spread(theirs.map(of), perSecond)}, p99 ${p99(theirs)}`,
    ratio: ratioOf(ours.map(of), theirs.map(of)),
    goal: null,
  });
  const rate = figure(connection === 'each' ? 'a connection each' : 'connections kept', rateOf);
  const ratio = rate.ratio ?? 0;
  const goal = {
    words: `at least ${leastRatio} times`,
    met: ratio >= leastRatio,
    reason: 'a question waits for a thread that lists its quarantine.',
  };
  return [
    { ...rate, goal: connection === 'each' ? goal : null },
    figure("for each second of the server's processor time", perCore),
  ];
}

function rateOf({ perSecond: rate }: Asked): number {
  return rate;
}

/** Hardly depends on what else the host does. */
function perCore({ perSecond: rate, serverLoad }: Asked): number {
  return rate / serverLoad;
}

function quarantineOf(repository: string): string {
  return `${repository}/objects/tmp_objdir-incoming-bench1`;
}

/** A question as pre-receive sends it. */
function bodyOf(repository: string, hook: number): string {
  const fields = [
    'hook=pre-receive',
    `script=${repository}/hooks/pre-receive`,
    `directory=${repository}`,
    `process=${hook}`,
    `GIT_QUARANTINE_PATH=${quarantineOf(repository)}`,
    'LOGNAME=git',
  ];
  const line = `${'1'.repeat(40)} ${'2'.repeat(40)} refs/heads/main\n`;
  return `${fields.map(field => `${field}\0`).join('')}\0${line}`;
}
