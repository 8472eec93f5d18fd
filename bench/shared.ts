/**
 * Claim: hosts that share one quota over Redis answer checks as quickly as one alone does, for no check
 * asks Redis, and hear of one another's changes within 100 ms, also while one of them tells what 100,000
 * owners store.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Asked, ask } from './asking.ts';
import { type Server, startDaemon, startServer } from './daemon.ts';
import {
  alone,
  count,
  type Figure,
  median,
  megabytes,
  milliseconds,
  percentile,
  perSecond,
  print,
  ratioOf,
  seconds,
  spread,
  tell,
} from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { makeStore, sharedRule, size } from './policy-store.ts';
import { memoryMb, processorMs } from './processes.ts';
import { adminAnswers, adminOf, agent, answerOf, msOf, settled, statusOf } from './questions.ts';
import { comes, startRedis } from './redis.ts';

const rounds = 5;
const roundMs = 2000;
const quietMs = 10_000;
const changes = 20;
const goalLagMs = 100;
const mebi = 2 ** 20;

const directory = makeGround();
const redis = await startRedis(join(directory, 'redis'));
const { client } = redis;
const first = folderOf('one');
const second = folderOf('two');
const soloConfig = writeConfig(first, '');
tell(`a store of ${count(size.owners)} owners is made`);
const { sharing, others } = await makeStore(first, soloConfig);

const before = await startDaemon(soloConfig, check(others[0]));
await settled(before);
const aloneMb = memoryMb(before.pid);
await before.stop();

const emptyBytes = await redis.figure('used_memory');
let one = await startDaemon(configFor(first, 'one'), check(others[0]));
const telling = await told();
tell(`told of ${count(size.owners)} owners: ${perSecond(telling.perSecond)}`);
const heldBytes = (await redis.figure('used_memory')) - emptyBytes;
await adminAnswers(one);
await settled(one);

const joinBegun = performance.now();
const two = await startDaemon(configFor(second, 'two'), check(others.at(-1)));
await comes(async () => (await usedOn(two, others.at(-1))) === (await usedOn(one, others.at(-1))));
const joinMs = performance.now() - joinBegun;
tell(`joined within ${seconds(joinMs)}`);
await adminAnswers(two);
await settled(two);
const joinedMb = memoryMb(two.pid);
const quiet = await idle();
const checks = await comparison();
const calm = await lags(one, two, null);
tell(`lag of a change: ${spread(calm.lags, milliseconds)}`);

await one.stop();
// All is told again of a usage that is gone.
await client.del('softquota:usage', 'softquota:usage:one');
one = await startDaemon(configFor(first, 'one'), check(others[0]));
await adminAnswers(one);
const again = told();
const busy = await lags(one, two, again);
const retelling = await again;
tell(`the same while all is told: ${spread(busy.lags, milliseconds)}, ${busy.lags.length} changes`);
await settled(two);
const oneMb = memoryMb(one.pid);
await Promise.all([one.stop(), two.stop()]);
agent.destroy();
await redis.stop();

const both = (values: readonly number[]) =>
  `${milliseconds(median(values))}, ${milliseconds(percentile(values, 99))}, ${milliseconds(Math.max(...values))}`;
print({
  title: 'Several hosts, one quota',
  how: `${count(size.owners)} owners with two units each on one host, ${count(size.groups)} groups, ${count(size.rules)} rules; two daemons, one Redis with an append-only file, and who asks, all on this host. Checks as above, of a daemon on whose host none of it is stored. Instead: the least server that asks Redis at each check, one hash an owner with limit and sizes, what is asked in the same moment sent together. It knows no rules, groups or subjects. A lag is the time from the answer to a change of a rule, by the host that tells, to the first check that the other decides by it.`,
  figures: [
    ...checks,
    alone(
      'owners told a second, the first time and again',
      `${perSecond(telling.perSecond)}, ${perSecond(retelling.perSecond)}`,
    ),
    alone('memory of Redis for each owner: usage, largest units, name and policy', bytesEach(heldBytes)),
    alone('a host that knows nothing joins: from exec to the first decision by all of it', seconds(joinMs)),
    alone('lag of a change of a rule, median, p99, longest', both(calm.lags), lagGoal(calm.lags)),
    alone(
      `the same while ${count(size.owners)} owners are told of, ${busy.lags.length} changes`,
      both(busy.lags),
      lagGoal(busy.lags),
    ),
    alone(
      'what one check at a time waits meanwhile, where it is told: median, p99, longest',
      both(busy.waits[0]),
    ),
    alone('the same where it is heard', both(busy.waits[1])),
    alone(
      'two hosts while nothing happens: commands to Redis a second, processor time of each',
      `${quiet.commands.toFixed(1)}; ${(quiet.load * 100).toFixed(1)} %`,
    ),
    {
      what: 'memory where it is stored (most)',
      ours: megabytes(oneMb),
      instead: `without Redis ${megabytes(aloneMb)}`,
      ratio: oneMb.now / aloneMb.now,
      goal: null,
    },
    alone('memory where it is heard of (most)', megabytes(joinedMb)),
  ],
});

function folderOf(name: string): string {
  const folder = join(directory, name);
  mkdirSync(folder);
  return folder;
}

function configFor(folder: string, host: string): string {
  return writeConfig(
    folder,
    `[store]\nADAPTER = redis\nHOST = redis://127.0.0.1:${redis.port}/0\n\n[security]\nSECRET_KEY = the same on all hosts of this bench\n\n[server]\nHOST_ID = ${host}\n`,
  );
}

function check(owner = ''): string {
  return `/v1/check?owner=${owner}&subject=size:git:lfs`;
}

async function usedOn({ socket }: Server, owner = ''): Promise<unknown> {
  return JSON.parse((await answerOf(socket, check(owner))).text).used;
}

function bytesEach(bytes: number): string {
  return `${count(bytes / size.owners)} bytes (${Math.round(bytes / mebi)} MiB)`;
}

function lagGoal(values: readonly number[]) {
  return {
    words: `median under ${goalLagMs} ms`,
    met: median(values) < goalLagMs,
    reason: 'what is told and what is heard share two cores with Redis and with who asks.',
  };
}

/** Resolves once the store has the usage of all owners on the first host. */
async function told(): Promise<{ readonly perSecond: number }> {
  const toldOf = () => client.hlen('softquota:usage:one');
  await comes(async () => (await toldOf()) > 0);
  const begun = performance.now();
  const already = await toldOf();
  await comes(async () => (await toldOf()) === size.owners);
  return { perSecond: ((size.owners - already) * 1000) / (performance.now() - begun) };
}

/** Measures the load of the two while nobody asks and nothing changes. */
async function idle() {
  const daemons = [one, two] as const;
  const used = () => daemons.reduce((sum, { pid }) => sum + processorMs(pid), 0);
  const [commandsBefore, usedBefore] = [await redis.figure('total_commands_processed'), used()];
  await delay(quietMs);
  const commands = (await redis.figure('total_commands_processed')) - commandsBefore - 1;
  return {
    commands: (commands * 1000) / quietMs,
    load: (used() - usedBefore) / quietMs / daemons.length,
  };
}

/** A rule is changed to and fro here until it is heard there, so often, or until that ends. */
async function lags(here: Server, there: Server, until: Promise<unknown> | null) {
  const owner = sharing[0] ?? '';
  const run = { goesOn: true };
  const end = () => {
    run.goesOn = false;
  };
  until?.then(end, end);
  const waits = [waited(here, run), waited(there, run)] as const;
  const found: number[] = [];
  for (let round = 0; until === null ? round < changes : run.goesOn; round++) {
    const limit = round % 2 === 0 ? 0 : -1;
    await msOf(adminOf(here), `/api/v1/admin/quota/rules/${sharedRule}`, {
      method: 'PATCH',
      body: { limit },
    });
    const begun = performance.now();
    await comes(async () => (await statusOf(there.socket, check(owner))) === (limit === 0 ? 413 : 200), 1);
    found.push(performance.now() - begun);
  }
  end();
  return { lags: found, waits: await Promise.all(waits) };
}

/** Measures the waits of checks, one at a time with a pause after each. */
async function waited({ socket }: Server, run: { readonly goesOn: boolean }): Promise<readonly number[]> {
  const found: number[] = [];
  while (run.goesOn) {
    found.push(await msOf(socket, check(others[found.length % others.length])));
    await delay(5);
  }
  return found;
}

async function comparison(): Promise<readonly Figure[]> {
  const asker = await startAsking();
  const known = others.slice(0, 10_000);
  const figures = [
    ...(await compare('checks of owners who store something', known, asker)),
    ...(await compare(
      'checks of owners never heard of',
      known.map(owner => `new-${owner}`),
      asker,
    )),
  ];
  await asker.stop();
  await client.select(1);
  await client.flushdb();
  await client.select(0);
  return figures;
}

async function startAsking(): Promise<Server> {
  await client.select(1);
  for (let at = 0; at < others.length; at += 1000) {
    const pipeline = client.pipeline();
    for (const owner of others.slice(at, at + 1000)) {
      pipeline.hset(`owner:${owner}`, { limit: 1e15, 'size:repos:private': 4e9, 'size:git:lfs': 1e9 });
    }
    await pipeline.exec();
  }
  await client.select(0);
  const socket = join(directory, 'asking.sock');
  const program = fileURLToPath(new URL('./asking-server.ts', import.meta.url));
  return startServer([program, socket, String(redis.port)], socket, check(others[0]));
}

async function compare(what: string, owners: readonly string[], asker: Server): Promise<readonly Figure[]> {
  const addresses = owners.map(check);
  const round = ({ socket, pid }: Server, milliseconds: number) =>
    ask({ socket, pid, addresses, accept: 'application/json', connection: 'kept', milliseconds });
  for (const server of [two, asker]) await round(server, roundMs / 2);
  const ours: Asked[] = [];
  const theirs: Asked[] = [];
  for (let each = 0; each < rounds; each++) {
    ours.push(await round(two, roundMs));
    theirs.push(await round(asker, roundMs));
  }
  const rates = (asked: readonly Asked[]) => asked.map(({ perSecond: rate }) => rate);
  const waits = (asked: readonly Asked[]) =>
    `${milliseconds(median(asked.map(({ p50Ms }) => p50Ms)))}, ${milliseconds(median(asked.map(({ p99Ms }) => p99Ms)))}`;
  const ratio = (of: (asked: Asked) => number) => ratioOf(ours.map(of), theirs.map(of));
  tell(`${what}: ${spread(rates(ours), perSecond)}, asking Redis ${spread(rates(theirs), perSecond)}`);
  return [
    {
      what,
      ours: spread(rates(ours), perSecond),
      instead: `asking Redis ${spread(rates(theirs), perSecond)}`,
      ratio: ratio(({ perSecond: rate }) => rate),
      goal: null,
    },
    {
      what: 'their p50, p99',
      ours: waits(ours),
      instead: waits(theirs),
      ratio: ratio(({ p99Ms }) => p99Ms),
      goal: null,
    },
  ];
}
