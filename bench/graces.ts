/** Claim: a grace costs a check nothing until it runs; then, and in report mode, 2 to 3 times as much. */

import { mkdirSync } from 'node:fs';
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
  ratioOf,
  spread,
  tell,
} from './figures.ts';
import { makeGround, makeOwners, writeConfig } from './ground.ts';

const owners = 10_000;
const roundMs = 1500;
const rounds = 5;

const directory = makeGround();
const root = join(directory, 'git');
makeOwners(root, owners);
// The pre-receive hook asks like this.
const asking = {
  addresses: Array.from(
    { length: owners },
    (_, owner) => `/v1/check?path=${root}/owner-${owner}/project.git`,
  ),
  accept: 'text/plain',
  connection: 'kept',
  connections: 16,
} as const;

interface Case {
  readonly what: string;
  readonly server: Server;
  readonly asked: Asked[];
}

const grace = 'GRACE = 7d\nGRACE_MOST = 1G\n';
const plain = await started('plain', 'checks of owners below a limit', '', '1P');
const cases = [
  await started('graced', 'the same where limits have a grace', grace, '1P'),
  await started('running', 'of owners whose grace runs, each answer with a warning', grace, '1'),
  await started(
    'report',
    'of owners over the limit in report mode, each put on record',
    'MODE = report\n',
    '1',
  ),
];
for (let round = -1; round < rounds; round++) {
  for (const { server, asked } of [plain, ...cases]) {
    const { socket, pid } = server;
    const found = await ask({ ...asking, socket, pid, milliseconds: roundMs });
    // The code is warm from round 0 on.
    if (round >= 0) asked.push(found);
  }
}
for (const { server } of [plain, ...cases]) await server.stop();
print({
  title: 'Graces and report mode',
  how: `Daemons that keep ${count(owners)} owners, asked in turn by path, in words, over 16 connections, ${rounds} rounds of ${roundMs / 1000} s. What is compared is the number of checks for each second of the server's processor time, which hardly depends on what else the host does.`,
  figures: cases.map(figureOf),
});

async function started(name: string, what: string, quota: string, total: string): Promise<Case> {
  const own = join(directory, name);
  mkdirSync(own);
  const storage = `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`;
  const config = writeConfig(own, storage, total, quota);
  const server = await startDaemon(config);
  await scan(config, owners);
  return { what, server, asked: [] };
}

function figureOf({ what, asked }: Case): Figure {
  const [ours, theirs] = [asked.map(perCore), plain.asked.map(perCore)];
  const ratio = ratioOf(ours, theirs);
  tell(`${what}: ${spread(asked.map(rate), perSecond)}, ${ratio.toFixed(2)}`);
  return {
    what: `${what}; p99 ${milliseconds(median(asked.map(({ p99Ms }) => p99Ms)))}`,
    ours: spread(ours, count),
    instead: `${plain.what} ${spread(theirs, count)}`,
    ratio,
    goal: null,
  };
}

function rate({ perSecond: value }: Asked): number {
  return value;
}

function perCore({ perSecond: value, serverLoad }: Asked): number {
  return value / serverLoad;
}
