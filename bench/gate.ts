/** Claim: the gate answers more than 40,000 checks a second on 16 connections that are kept. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Asked, ask } from './asking.ts';
import { type Server, scan, startDaemon, startServer } from './daemon.ts';
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
const roundMs = 2000;
const rounds = 5;
const goalPerSecond = 40_000;

const directory = makeGround();
const root = join(directory, 'git');
makeOwners(root, owners);
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);
await scan(config, owners);
// The pre-receive hook asks by path, for words (none, where all is well); an upload handler names an owner.
const byPath = Array.from(
  { length: owners },
  (_, owner) => `/v1/check?path=${root}/owner-${owner}/project.git`,
);
const byOwner = Array.from(
  { length: owners },
  (_, owner) => `/v1/check?owner=owner-${owner}&subject=size:git:lfs`,
);
const words = 'text/plain';
const json = 'application/json';
const plainServer = fileURLToPath(new URL('./plain-server.ts', import.meta.url));

const rate = ({ perSecond: value }: Asked) => value;
/** What hardly depends on what else the host does. */
const perCore = ({ perSecond: value, serverLoad }: Asked) => value / serverLoad;
const figures = [
  ...(await compare('by path, in words, connections kept', byPath, words, 'kept')),
  ...(await compare('by owner, in JSON, connections kept', byOwner, json, 'kept')),
  ...(await compare('by path, in words, a connection each', byPath, words, 'each')),
];
await daemon.stop();
print({
  title: 'Checks',
  how: `A daemon that keeps ${count(owners)} owners, asked for one after the other by one process over 16 connections, ${rounds} rounds of ${roundMs / 1000} s in turn with the least server on \`node:http\`, giving one ready-made answer of the same length. The gate reads plain checks by itself, so a ratio can be above 1. Latencies are those of the median round, 16 questions being under way all the time. The loads are shares of one core: where the asker's is near 100 % the server could do more.`,
  figures,
});

async function compare(
  what: string,
  addresses: readonly string[],
  accept: string,
  connection: 'kept' | 'each',
): Promise<Figure[]> {
  const plain = await startPlain(addresses[0] ?? '', accept);
  const ours: Asked[] = [];
  const theirs: Asked[] = [];
  const round = ({ socket, pid }: Server, milliseconds: number) =>
    ask({ socket, pid, addresses, accept, connection, milliseconds });
  for (const server of [daemon, plain]) await round(server, roundMs / 2);
  for (let each = 0; each < rounds; each++) {
    ours.push(await round(daemon, roundMs));
    theirs.push(await round(plain, roundMs));
  }
  await plain.stop();
  const [rates, others] = [ours.map(rate), theirs.map(rate)];
  tell(`${what}: ${spread(rates, perSecond)}, node:http ${spread(others, perSecond)}`);
  const goal = {
    words: `over ${perSecond(goalPerSecond)}`,
    met: median(rates) > goalPerSecond,
    reason: `the server had ${load(ours, 'serverLoad')} and the asker ${load(ours, 'askerLoad')} of a core. Below 100 % of the server the host had other work; at 100 % it is what an answer costs, and the other figure tells what Node's own HTTP alone costs.`,
  };
  return [
    {
      what: `checks ${what}`,
      ours: spread(rates, perSecond),
      instead: `node:http ${spread(others, perSecond)}`,
      ratio: ratioOf(rates, others),
      goal: connection === 'kept' ? goal : null,
    },
    {
      what: 'their p50, p99; load of server, asker',
      ours: details(ours),
      instead: details(theirs),
      ratio: null,
      goal: null,
    },
    {
      what: "checks for each second of the server's processor time",
      ours: spread(ours.map(perCore), count),
      instead: `node:http ${spread(theirs.map(perCore), count)}`,
      ratio: ratioOf(ours.map(perCore), theirs.map(perCore)),
      goal: null,
    },
  ];
}

/** The least server on `node:http`: one whose every answer is what the daemon answers to this. */
function startPlain(address: string, accept: string): Promise<Server> {
  const asked = [
    '-sq',
    '-H',
    `Accept: ${accept}`,
    '--unix-socket',
    daemon.socket,
    `http://localhost${address}`,
  ];
  const socket = join(directory, 'plain.sock');
  return startServer([plainServer, socket, execFileSync('curl', asked, { encoding: 'utf8' })], socket, '/');
}

function details(rounds: readonly Asked[]): string {
  const p50 = milliseconds(median(rounds.map(({ p50Ms }) => p50Ms)));
  const p99 = milliseconds(median(rounds.map(({ p99Ms }) => p99Ms)));
  return `${p50}, ${p99}; ${load(rounds, 'serverLoad')}, ${load(rounds, 'askerLoad')}`;
}

function load(rounds: readonly Asked[], whose: 'serverLoad' | 'askerLoad'): string {
  return `${Math.round(median(rounds.map(round => round[whose])) * 100)} %`;
}
