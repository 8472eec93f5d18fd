/** Claim: on one core the gate answers at least half as many checks a second as Go's net/http gives constant answers. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Asked, type Asking, ask } from './asking.ts';
import { type Server, scan, softquota, startDaemon, startPlain, startProgram } from './daemon.ts';
import {
  count,
  type Figure,
  type Goal,
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
/** V8 goes on optimizing for some seconds. */
const warmRounds = 4;
const walkMs = 5000;
const goalRatio = 0.5;
const goalMs = 2;
const goalWalkMs = 5;
const members = 1000;
const pooledRounds = 10;
const goalPool = 0.95;

const directory = makeGround();
const root = join(directory, 'git');
makeOwners(root, owners);
const config = writeConfig(directory, `[storage.repos]\nPATH = ${root}/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);
await scan(config, owners);
// The first asks for words (there are none, where all is well); the second is what an upload handler asks.
const byPath = {
  what: 'by path, in words',
  addresses: Array.from(
    { length: owners },
    (_, owner) => `/v1/check?path=${root}/owner-${owner}/project.git`,
  ),
  accept: 'text/plain',
};
const byOwner = {
  what: 'by owner, in JSON',
  addresses: Array.from(
    { length: owners },
    (_, owner) => `/v1/check?owner=owner-${owner}&subject=size:git:lfs`,
  ),
  accept: 'application/json',
};
const goServer = buildGo();

const figures = [
  ...(await compare(byPath, { connection: 'kept', connections: 16 })),
  ...(await compare(byOwner, { connection: 'kept', connections: 16 })),
  ...(await compare(byPath, { connection: 'kept', connections: 64 })),
  ...(await compare(byOwner, { connection: 'kept', connections: 64 })),
  ...(await compare(byPath, { connection: 'each', connections: 16 })),
  await walking(),
  await pooled(),
];
await daemon.stop();
print({
  title: 'Checks',
  how: `A daemon that keeps ${count(owners)} owners, asked for one after the other by one process, ${rounds} rounds of ${roundMs / 1000} s, after ${warmRounds} to warm up, in turn with the least servers on Go's net/http (one core) and on \`node:http\`, each giving one ready-made answer of the same length. Latencies are the medians of the rounds, a question being under way on each connection all the time. The loads are shares of one core: where the asker's is near 100 % the server could do more, and what it does for each second of its processor's time tells how much.`,
  figures,
});

interface Question {
  readonly what: string;
  readonly addresses: readonly string[];
  readonly accept: string;
}

type Connections = Required<Pick<Asking, 'connection' | 'connections'>>;

interface Peer {
  readonly name: string;
  readonly server: Server;
  readonly asked: Asked[];
}

/** Goals are those beside Go on 16 kept connections; where there is no Go, there are none. */
async function compare(question: Question, connections: Connections): Promise<Figure[]> {
  const { connection, connections: how } = connections;
  const what = `${question.what}, ${connection === 'kept' ? `${how} connections kept` : 'a connection each'}`;
  const answer = answerTo(question);
  const [go, node] = await Promise.all([startGo(answer), startPlain(directory, answer)]);
  const ours: Peer = { name: 'softquota', server: daemon, asked: [] };
  const others: Peer[] = [
    ...(go === null ? [] : [{ name: "Go's net/http", server: go, asked: [] }]),
    { name: 'node:http', server: node, asked: [] },
  ];
  for (let round = -warmRounds; round < rounds; round++) {
    for (const { server, asked } of [ours, ...others]) {
      const { socket, pid } = server;
      const found = await ask({ ...question, ...connections, socket, pid, milliseconds: roundMs });
      // The code is warm from round 0 on.
      if (round >= 0) asked.push(found);
    }
  }
  for (const { server } of others) await server.stop();
  const hasGoals = connection === 'kept' && how === 16;
  return others.flatMap(peer => figuresOf(what, ours, peer, hasGoals && peer.server === go));
}

function figuresOf(what: string, ours: Peer, { name, asked }: Peer, hasGoals: boolean): Figure[] {
  const [rates, theirs] = [ours.asked.map(rate), asked.map(rate)];
  const [cores, theirCores] = [ours.asked.map(perCore), asked.map(perCore)];
  const ratio = ratioOf(rates, theirs);
  tell(`${what}: ${spread(rates, perSecond)}, ${name} ${spread(theirs, perSecond)}, ${ratio.toFixed(2)}`);
  return [
    {
      what: `checks ${what}`,
      ours: spread(rates, perSecond),
      instead: `${name} ${spread(theirs, perSecond)}`,
      ratio,
      goal: hasGoals ? goalOf(`at least ${goalRatio} × Go`, ratio >= goalRatio, ours.asked) : null,
    },
    {
      what: 'their p50, p99; load of server, asker',
      ours: details(ours.asked),
      instead: details(asked),
      ratio: p99Of(ours.asked) / p99Of(asked),
      goal: hasGoals ? goalOf(`p99 under ${goalMs} ms`, p99Of(ours.asked) < goalMs, ours.asked) : null,
    },
    {
      what: "checks for each second of the server's processor time",
      ours: spread(cores, count),
      instead: `${name} ${spread(theirCores, count)}`,
      ratio: ratioOf(cores, theirCores),
      goal: null,
    },
  ];
}

function rate({ perSecond: value }: Asked): number {
  return value;
}

/** Hardly depends on what else the host does. */
function perCore({ perSecond: value, serverLoad }: Asked): number {
  return value / serverLoad;
}

function p99Of(asked: readonly Asked[]): number {
  return median(asked.map(({ p99Ms }) => p99Ms));
}

function goalOf(words: string, met: boolean, asked: readonly Asked[]): Goal {
  return {
    words,
    met,
    reason: `the server had ${load(asked, 'serverLoad')} and the asker ${load(asked, 'askerLoad')} of a core; the figures for each second of the processor's time tell what an answer costs.`,
  };
}

/** Checks while one full walk after the other runs. */
async function walking(): Promise<Figure> {
  const { socket, pid } = daemon;
  const asking = { ...byPath, connection: 'kept', socket, pid } as const;
  const quiet = await ask({ ...asking, milliseconds: walkMs });
  const walks = { goOn: true, ended: 0 };
  const walked = (async () => {
    while (walks.goOn) {
      await scan(config, owners);
      walks.ended += 1;
    }
  })();
  await delay(roundMs);
  const busy = await ask({ ...asking, milliseconds: walkMs });
  walks.goOn = false;
  await walked;
  tell(`while a full walk runs: p99 ${milliseconds(busy.p99Ms)}, else ${milliseconds(quiet.p99Ms)}`);
  return {
    what: `checks while one full walk after the other runs (${walks.ended} of them), p50 and p99`,
    ours: `${milliseconds(busy.p50Ms)}, ${milliseconds(busy.p99Ms)}`,
    instead: `without a walk ${milliseconds(quiet.p50Ms)}, ${milliseconds(quiet.p99Ms)}`,
    ratio: busy.p99Ms / quiet.p99Ms,
    goal: {
      words: `p99 under ${goalWalkMs} ms`,
      met: busy.p99Ms < goalWalkMs,
      reason: 'the walkers, the commands that begin the walks and the asker share two cores with the gate.',
    },
  };
}

/** Checks of the members of a pool, in turn with those of owners in a group without one, at one daemon. */
async function pooled(): Promise<Figure> {
  const each = { name: 'each', limit: '1P', subjects: ['size:all'] };
  const pool = { name: 'pool', limit: '1P', per: 'group', subjects: ['size:all'] };
  const users = (from: number) => Array.from({ length: members }, (_, at) => `owner-${from + at}`);
  const policy = {
    rules: [each, pool],
    groups: [
      { name: 'together', rules: ['each', 'pool'], users: users(0) },
      { name: 'apart', rules: ['each'], users: users(members) },
    ],
  };
  const file = join(directory, 'policy.json');
  writeFileSync(file, JSON.stringify(policy));
  execFileSync(process.execPath, [softquota, 'policy', 'import', file, '--yes', '--config', config]);
  const { socket, pid } = daemon;
  const asked = { together: [] as Asked[], apart: [] as Asked[] };
  for (let round = -warmRounds; round < pooledRounds; round++) {
    for (const [at, found] of [asked.together, asked.apart].entries()) {
      const addresses = byOwner.addresses.slice(at * members, (at + 1) * members);
      const one = await ask({
        ...byOwner,
        addresses,
        connection: 'kept',
        socket,
        pid,
        milliseconds: roundMs,
      });
      if (round >= 0) found.push(one);
    }
  }
  const [ours, without] = [asked.together.map(perCore), asked.apart.map(perCore)];
  const ratio = ratioOf(ours, without);
  tell(`members of a pool: ${spread(ours, count)}, without ${spread(without, count)}, ${ratio.toFixed(3)}`);
  return {
    what: `checks of ${count(members)} members of a pool, for each second of the server's processor time`,
    ours: spread(ours, count),
    instead: `in a group without a pool ${spread(without, count)}`,
    ratio,
    goal: goalOf(`at least ${goalPool} × without`, ratio >= goalPool, asked.together),
  };
}

/** Returns the daemon's answer to the first of these addresses. */
function answerTo({ addresses, accept }: Question): string {
  const address = `http://localhost${addresses[0]}`;
  const asked = ['-sq', '-H', `Accept: ${accept}`, '--unix-socket', daemon.socket, address];
  return execFileSync('curl', asked, { encoding: 'utf8' });
}

async function startGo(answer: string): Promise<Server | null> {
  const socket = join(directory, 'go.sock');
  return goServer === null ? null : startProgram(goServer, [socket, answer], socket, '/');
}

/** Null: there is no Go on this host. */
function buildGo(): string | null {
  const program = join(directory, 'plain-server');
  const go = process.env.GO ?? 'go';
  try {
    execFileSync(go, ['build', '-o', program, fileURLToPath(new URL('./plain-server.go', import.meta.url))], {
      env: {
        ...process.env,
        GOFLAGS: '-mod=mod',
        GOTOOLCHAIN: 'local',
        GOCACHE: join(directory, 'go-cache'),
      },
    });
  } catch (error) {
    tell(`no Go to compare with: ${String(error)}`);
    return null;
  }
  return program;
}

function details(rounds: readonly Asked[]): string {
  const p50 = milliseconds(median(rounds.map(({ p50Ms }) => p50Ms)));
  return `${p50}, ${milliseconds(p99Of(rounds))}; ${load(rounds, 'serverLoad')}, ${load(rounds, 'askerLoad')}`;
}

function load(rounds: readonly Asked[], whose: 'serverLoad' | 'askerLoad'): string {
  return `${Math.round(median(rounds.map(round => round[whose])) * 100)} %`;
}
