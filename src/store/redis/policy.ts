/** The policy: read whole, changed as a whole, each change upon the one before. */

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChainableCommander } from 'ioredis';
import type { OwnerRecord, Position, RegisterChanges } from '../register.ts';
import type { Policy, PolicyChange, SharedState } from '../shared.ts';
import type { Client } from './address.ts';
import {
  type Answer,
  answerIn,
  atOnce,
  inARow,
  inTurns,
  runScript,
  serverOf,
  sound,
  strangeSchema,
  words,
} from './asked.ts';
import type { Connection } from './connection.ts';
import { away, replyCode } from './faults.ts';
import type { Keys } from './keys.ts';
import { nameOf } from './keys.ts';
import { newestNumber, tellable } from './log.ts';
import * as scripts from './scripts.ts';
import {
  documentIn,
  documentName,
  eventFields,
  numberIn,
  ownerFields,
  ownerIn,
  sentAs,
  textOf,
  timeOf,
  understood,
  unnamed,
} from './values.ts';

/** How long a whole policy may be on its way, in milliseconds. */
const wholeMs = 10_000;

/** How long replicas are waited for, in milliseconds: a change is acknowledged or refused within 2 s. */
const replicaMs = 1200;

/** Part of a policy that is sent at a time. */
const stageSize = 2000;
/** How long parts of a policy lie there, should nobody put them in place, in milliseconds. */
const stagedMs = 60_000;
/** So many owners are told in one entry of the log. */
const enrolledAtOnce = 250;

export interface PolicySettings {
  readonly keys: Keys;
  /** For questions that wait for nobody. */
  readonly main: Connection;
  /** For changes, which wait for replicas. */
  readonly governing: Connection;
  readonly waitReplicas: number;
  readonly mostEvents: number;
}

/** The hash as `SharedState` has it. */
function positionIn(where: string, key: string, hash: Readonly<Record<string, Buffer>>): Position | null {
  if (Object.keys(hash).length === 0) return null;
  const schema = hash.schema?.toString() ?? '';
  if (schema !== '1') throw strangeSchema(where, key, schema);
  return understood(where, key, 'the position', () => {
    const { generation, version, mark } = hash;
    if (!generation || !version || !mark) throw new TypeError('incomplete');
    return {
      generation: unnamed(generation.toString()),
      version: numberIn(version.toString()),
      mark: unnamed(mark.toString()),
    };
  });
}

function stateIn(where: string, { policy }: Keys, hash: Readonly<Record<string, Buffer>>, newest: unknown) {
  const position = positionIn(where, policy, hash);
  const supersedes = understood(where, policy, 'supersedes', () => {
    const read: unknown = JSON.parse(hash.supersedes?.toString() ?? '[]');
    if (!Array.isArray(read)) throw new TypeError('no list');
    return read.map(String);
  });
  return { position, supersedes, lastChange: newestNumber(newest) } satisfies SharedState;
}

/** A reply to HGETALL, as the client has given it. */
type Hash = Readonly<Record<string, Buffer>>;

export async function readState({ main, keys }: PolicySettings): Promise<SharedState> {
  const [hash, newest] = await main.run(client =>
    unchanged(client, keys, all => all.xrevrange(keys.log, '+', '-', 'COUNT', 1)),
  );
  return stateIn(main.where, keys, hash, newest);
}

/** So often the policy is read again that was changed while it was read. */
const attempts = 5;

/**
 * The policy's hash, and what else is asked, as of one moment.
 *
 * Every change moves the policy on, so what is read between two equal looks at its place has not changed meanwhile.
 * Only where it changes all the time is it read in a transaction.
 */
async function unchanged(
  client: Client,
  { policy }: Keys,
  fill: (questions: ChainableCommander) => ChainableCommander,
): Promise<[Hash, ...unknown[]]> {
  for (let attempt = 1; attempt < attempts; attempt++) {
    const answers = await inARow(client, all => fill(all.hgetallBuffer(policy)).hgetallBuffer(policy));
    const [before, after] = [answers[0] as Hash, answers.at(-1) as Hash];
    if (isDeepStrictEqual(before, after)) return [before, ...answers.slice(1, -1)];
  }
  const [hash, ...answers] = await atOnce(client, all => fill(all.hgetallBuffer(policy)));
  return [hash as Hash, ...answers];
}

export async function readPolicy({ main, keys }: PolicySettings): Promise<{
  readonly state: SharedState;
  readonly policy: Policy;
}> {
  await main.run(client => client.exists(keys.policy));
  const [hash, newest, owners, documents] = await main.run(
    client =>
      unchanged(client, keys, all =>
        all
          .xrevrange(keys.log, '+', '-', 'COUNT', 1)
          .hgetallBuffer(keys.owners)
          .hgetallBuffer(keys.documents),
      ),
    wholeMs,
  );
  const records = <T>(key: string, hash: Hash, read: (name: string, value: Buffer) => T) =>
    inTurns(Object.entries(hash), ([name, value]) =>
      understood(main.where, key, name, () => read(name, value)),
    );
  return {
    state: stateIn(main.where, keys, hash, newest),
    policy: {
      owners: await records(keys.owners, owners as Hash, (name, value) => ownerIn(name, textOf(value))),
      documents: await records(keys.documents, documents as Hash, documentIn),
    },
  };
}

/** Whether all of it is in the log, or only that there was something. */
function told(change: Omit<PolicyChange, 'events'>): string {
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = change;
  return tellable({ owners, goneOwners, documents, goneDocuments });
}

function changeWords({ owners = [], goneOwners = [], documents = [], goneDocuments = [] }: RegisterChanges) {
  return [
    ...words(goneOwners.map(nameOf)),
    ...words(owners.flatMap(ownerFields)),
    ...words(goneDocuments.map(documentName)),
    ...words(documents.flatMap(document => [documentName(document), sentAs(document.text)])),
  ];
}

function recordWords(changes: RegisterChanges, mostEvents: number) {
  const { events = [], goneEventsBefore, levels = [], goneLevels = [] } = changes;
  return [
    String(mostEvents),
    goneEventsBefore === undefined ? '' : timeOf(goneEventsBefore),
    ...words(goneLevels.map(String)),
    ...words(events.flatMap(eventFields)),
    ...words(levels.flatMap(({ ownerId, text }) => [String(ownerId), sentAs(text)])),
  ];
}

const positionWords = ({ generation, version, mark }: Position) => [
  nameOf(generation),
  String(version),
  nameOf(mark),
];

const policyKeys = ({ events, places, levels, policy, documents, owners, log }: Keys) => [
  events,
  places,
  levels,
  policy,
  documents,
  owners,
  log,
];

export async function govern(
  settings: PolicySettings,
  change: PolicyChange,
  basis: Position,
  next: Position,
): Promise<'kept' | 'behind'> {
  const { keys, mostEvents } = settings;
  const answer = await governed(settings, scripts.govern, policyKeys(keys), [
    keys.news,
    ...positionWords(next),
    told(change),
    ...positionWords(basis),
    ...changeWords(change),
    ...recordWords(change, mostEvents),
  ]);
  return answer.is === 'kept' ? 'kept' : 'behind';
}

/** All of a register's write but the shares. */
export async function writeRegister(settings: PolicySettings, changes: RegisterChanges): Promise<void> {
  const { main, keys, mostEvents } = settings;
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = changes;
  await pruneEvents(settings, changes.goneEventsBefore);
  const records = recordWords(changes, mostEvents);
  if (owners.length + goneOwners.length + documents.length + goneDocuments.length === 0) {
    const recordKeys = [keys.events, keys.places, keys.levels];
    await main.run(async client =>
      sound(main.where, await runScript(client, scripts.record, recordKeys, records)),
    );
    return;
  }
  const first = { generation: randomUUID(), version: 1, mark: randomUUID() };
  await governed(settings, scripts.write, policyKeys(keys), [
    keys.news,
    ...positionWords(first),
    told({ owners, goneOwners, documents, goneDocuments }),
    ...changeWords(changes),
    ...records,
  ]);
}

const prunedAtOnce = 1000;

/** All but the last few of old events go beforehand, for each takes its time while nobody else is served. */
async function pruneEvents({ main, keys }: PolicySettings, before: number | undefined): Promise<void> {
  if (before === undefined) return;
  const args = [timeOf(before), String(prunedAtOnce)];
  for (let pruned = prunedAtOnce; pruned >= prunedAtOnce; ) {
    const answer = await main.run(async client =>
      sound(
        main.where,
        await runScript(client, scripts.prune, [keys.events, keys.places, keys.levels], args),
      ),
    );
    pruned = Number(answer.with[0]);
  }
}

export async function replace(
  settings: PolicySettings,
  policy: Policy,
  basis: Position | null,
  next: Position,
  supersedes: readonly string[],
): Promise<'kept' | 'behind'> {
  const { governing, keys } = settings;
  const id = randomUUID();
  const staged = { documents: keys.staged(id, 'documents'), owners: keys.staged(id, 'owners') };
  const documents = new Map(policy.documents.map(one => [documentName(one), sentAs(one.text)]));
  const owners = new Map(policy.owners.map(ownerFields));
  for (const [key, fields] of [[staged.documents, documents] as const, [staged.owners, owners] as const]) {
    const list = [...fields];
    for (let start = 0; start < list.length; start += stageSize) {
      const part = words(list.slice(start, start + stageSize).flat());
      await governing.run(client => runScript(client, scripts.stage, [key], [...part, String(stagedMs)]));
    }
  }
  const answer = await governed(
    settings,
    scripts.replace,
    [keys.policy, keys.documents, keys.owners, keys.log, staged.documents, staged.owners],
    [
      keys.news,
      ...positionWords(next),
      JSON.stringify(supersedes),
      ...words(basis === null ? [] : positionWords(basis)),
      String(documents.size),
      String(owners.size),
    ],
  );
  if (answer.is === 'lost') throw away(governing.where, 'a policy that was on its way is gone');
  return answer.is === 'kept' ? 'kept' : 'behind';
}

export async function enroll(
  { main, keys }: PolicySettings,
  owners: readonly OwnerRecord[],
): Promise<readonly OwnerRecord[]> {
  const there: OwnerRecord[] = [];
  for (let start = 0; start < owners.length; start += enrolledAtOnce) {
    const some = owners.slice(start, start + enrolledAtOnce).flatMap(ownerFields);
    const answer = await main.run(async client =>
      sound(
        main.where,
        await runScript(client, scripts.enroll, [keys.owners, keys.log], [keys.news, ...words(some)]),
      ),
    );
    for (let at = 0; at < answer.with.length; at += 2) {
      const [name, value] = answer.with.slice(at, at + 2).map(String);
      there.push(understood(main.where, keys.owners, name ?? '', () => ownerIn(name ?? '', value ?? '')));
    }
  }
  return there;
}

/**
 * A script that changes policy, acknowledged by replicas where that is asked for.
 *
 * WAIT speaks of what its own connection has written: so both are sent together, to one server, and where the
 * connection breaks both fail.
 */
async function governed(
  { governing, waitReplicas }: PolicySettings,
  script: scripts.Script,
  keys: readonly string[],
  args: readonly (string | Buffer)[],
): Promise<Answer> {
  const { where } = governing;
  return governing.run(async client => {
    if (waitReplicas === 0) return sound(where, await runScript(client, script, keys, args));
    const [reply, replicas] = await acknowledged(client, script, keys, args, waitReplicas, where);
    const answer = sound(where, answerIn(reply));
    if (answer.is === 'kept' && replicas < waitReplicas) {
      throw away(
        where,
        `the change was made, but only ${replicas} of ${waitReplicas} replicas (WAIT_REPLICAS) acknowledged it within ` +
          `${replicaMs / 1000} s; it may be in force all the same`,
      );
    }
    return answer;
  });
}

async function acknowledged(
  client: Client,
  script: scripts.Script,
  keys: readonly string[],
  args: readonly (string | Buffer)[],
  waitReplicas: number,
  where: string,
): Promise<[unknown, number]> {
  const [key = ''] = keys;
  const attempt = async (): Promise<[unknown, number]> => {
    const server = await serverOf(client, key, where);
    return Promise.all([
      server.call('eval', [script.text, String(keys.length), ...keys, ...args]),
      server.wait(waitReplicas, replicaMs),
    ]);
  };
  try {
    return await attempt();
  } catch (error) {
    if (replyCode(error) !== 'MOVED') throw error;
    // A question that follows to where the key is now makes the client know it.
    await client.exists(key);
    return attempt();
  }
}
