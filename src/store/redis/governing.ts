/**
 * Changing the policy: as a whole, each change upon the one before, and on as many replicas as are asked for.
 */

import { randomUUID } from 'node:crypto';
import { SoftquotaError } from '../../errors.ts';
import type { OwnerRecord, Position, RecordChanges } from '../record-store.ts';
import { type Basis, lines, type PolicyChange, type SharedPolicy, type VolatileChange } from '../shared.ts';
import type { RedisClient } from './address.ts';
import { answerIn, inTurns, runScript, type ScriptReply, serverOf, sound, words } from './asked.ts';
import type { Connection } from './connection.ts';
import { away, replyCode } from './faults.ts';
import { fieldName, type Keys } from './keys.ts';
import { tellable } from './log.ts';
import type { Script } from './lua.ts';
import { saidInOrder } from './order.ts';
import * as scripts from './policy-scripts.ts';
import { documentName, eventFields, ownerFields, ownerIn, sentAs, timeOf, understood } from './values.ts';

export interface GoverningSettings {
  readonly keys: Keys;
  /** For questions that wait for nobody. */
  readonly main: Connection;
  /** For changes, which wait for replicas. */
  readonly governing: Connection;
  readonly waitReplicas: number;
  readonly mostEvents: number;
  /**
   * The host that writes events and levels, so that they are written in the order in which they were; null:
   * they are written once.
   */
  readonly writer: string | null;
}

/** How long replicas are waited for, in milliseconds: a change is acknowledged or refused within 2 s. */
const replicaMs = 1200;

/** Part of a policy that is sent at a time. */
const stageSize = 2000;
/** How long parts of a policy lie there, should nobody put them in place, in milliseconds. */
const stagedMs = 60_000;
/** So many owners are told in one entry of the log. */
const enrolledAtOnce = 250;

/** Tells whether all of it is in the log, or only that there was something. */
function told(change: Omit<PolicyChange, 'events'>): string {
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = change;
  return tellable({ owners, goneOwners, documents, goneDocuments });
}

function changeWords({ owners = [], goneOwners = [], documents = [], goneDocuments = [] }: RecordChanges) {
  return [
    ...words(goneOwners.map(fieldName)),
    ...words(owners.flatMap(ownerFields)),
    ...words(goneDocuments.map(documentName)),
    ...words(documents.flatMap(document => [documentName(document), sentAs(document.text)])),
  ];
}

function recordWords(changes: RecordChanges, mostEvents: number) {
  const { events = [], goneEventsBefore, levels = [], goneLevels = [] } = changes;
  return [
    String(mostEvents),
    goneEventsBefore === undefined ? '' : timeOf(goneEventsBefore),
    ...words(goneLevels.map(String)),
    ...words(events.flatMap(eventFields)),
    ...words(levels.flatMap(({ ownerId, text }) => [String(ownerId), sentAs(text)])),
  ];
}

const bothLines = lines.join(' ');

const positionWords = ({ generation, version, mark }: Position) => [
  fieldName(generation),
  String(version),
  fieldName(mark),
];

const policyKeys = ({ events, places, levels, policy, documents, owners, log, order }: Keys) => [
  events,
  places,
  levels,
  policy,
  documents,
  owners,
  log,
  order,
];

export async function commit(
  settings: GoverningSettings,
  change: PolicyChange,
  { generation, heads, lines: changed }: Basis,
  mark: string,
  server: string | null,
): Promise<Position | null> {
  const { keys, mostEvents } = settings;
  const known = lines.flatMap(line => [String(heads[line].version), fieldName(heads[line].mark)]);
  const answer = await governed(settings, scripts.commit, policyKeys(keys), [
    String(settings.waitReplicas),
    keys.news,
    // The script takes the next version itself.
    ...positionWords({ generation, version: 0, mark }),
    told(change),
    changed.join(' '),
    ...known,
    server ?? '',
    ...changeWords(change),
    ...recordWords(change, mostEvents),
  ]);
  return answer.is === 'kept' ? { generation, version: Number(answer.with[0]), mark } : null;
}

/** Names in one entry of the log; of more it is only told that there were some. */
const mostNames = 200;

export async function writeVolatile(
  { main, keys }: GoverningSettings,
  { documents = [], goneDocuments = [] }: VolatileChange,
): Promise<void> {
  const names = [...goneDocuments, ...documents].map(documentName);
  const args = [
    keys.news,
    names.length > mostNames ? '' : names.join(' '),
    ...words(goneDocuments.map(documentName)),
    ...words(documents.flatMap(document => [documentName(document), sentAs(document.text)])),
  ];
  await main.run(async client =>
    sound(main.where, await runScript(client, scripts.writeVolatile, [keys.volatile, keys.log], args)),
  );
}

export async function restore(
  settings: GoverningSettings,
  change: Omit<PolicyChange, 'events'>,
  basis: Position,
  positions: readonly Position[],
): Promise<'kept' | 'conflict'> {
  const { keys, mostEvents } = settings;
  const next = positions.at(-1);
  if (next === undefined) throw new TypeError('no position to come to');
  const through = positions.slice(0, -1).flatMap(({ version, mark }) => [String(version), fieldName(mark)]);
  const answer = await governed(settings, scripts.restore, policyKeys(keys), [
    String(settings.waitReplicas),
    keys.news,
    ...positionWords(next),
    told(change),
    bothLines,
    ...positionWords(basis),
    ...words(through),
    ...changeWords(change),
    ...recordWords({}, mostEvents),
  ]);
  return answer.is === 'kept' ? 'kept' : 'conflict';
}

/** All of a write but the shares. */
export async function writeRegister(settings: GoverningSettings, changes: RecordChanges): Promise<void> {
  const { main, keys, mostEvents, writer } = settings;
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = changes;
  await pruneEvents(settings, changes.goneEventsBefore);
  const records = recordWords(changes, mostEvents);
  if (owners.length + goneOwners.length + documents.length + goneDocuments.length === 0) {
    const recordKeys = [keys.events, keys.places, keys.levels, keys.order];
    await saidInOrder(main, keys, [records], (client, _, order) =>
      runScript(client, scripts.record, recordKeys, [fieldName(writer ?? ''), String(order), ...records]),
    );
    return;
  }
  const first = { generation: randomUUID(), version: 1, mark: randomUUID() };
  await governed(settings, scripts.write, policyKeys(keys), [
    String(settings.waitReplicas),
    keys.news,
    ...positionWords(first),
    told({ owners, goneOwners, documents, goneDocuments }),
    bothLines,
    ...changeWords(changes),
    ...records,
  ]);
}

const prunedAtOnce = 1000;

/** All but the last few of old events go beforehand, for each takes its time while nobody else is served. */
async function pruneEvents({ main, keys }: GoverningSettings, before: number | undefined): Promise<void> {
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
  settings: GoverningSettings,
  policy: SharedPolicy,
  basis: Position | null,
  next: Position,
  supersedes: readonly string[],
): Promise<'kept' | 'conflict'> {
  const { governing, keys } = settings;
  const id = randomUUID();
  const staged = { documents: keys.staged(id, 'documents'), owners: keys.staged(id, 'owners') };
  const documents = new Map(
    await inTurns(policy.documents, one => [documentName(one), sentAs(one.text)] as const),
  );
  const owners = new Map(await inTurns(policy.owners, ownerFields));
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
    [
      keys.policy,
      keys.documents,
      keys.owners,
      keys.log,
      staged.documents,
      staged.owners,
      keys.order,
      keys.staged(id, 'spare'),
    ],
    [
      String(settings.waitReplicas),
      keys.news,
      ...positionWords(next),
      JSON.stringify(supersedes),
      ...words(basis === null ? [] : positionWords(basis)),
      String(documents.size),
      String(owners.size),
    ],
  );
  if (answer.is === 'lost') throw away(governing.where, 'a policy that was on its way is gone');
  return answer.is === 'kept' ? 'kept' : 'conflict';
}

export async function enroll(
  { main, keys }: GoverningSettings,
  owners: readonly OwnerRecord[],
): Promise<readonly OwnerRecord[]> {
  const there: OwnerRecord[] = [];
  for (let start = 0; start < owners.length; start += enrolledAtOnce) {
    const some = owners.slice(start, start + enrolledAtOnce).flatMap(ownerFields);
    const enrollKeys = [keys.owners, keys.log, keys.order];
    const [answer] = await saidInOrder(main, keys, [words(some)], (client, list, order) =>
      runScript(client, scripts.enroll, enrollKeys, [keys.news, String(order), ...list]),
    );
    const known = answer?.with ?? [];
    for (let at = 0; at < known.length; at += 2) {
      const [name, value] = known.slice(at, at + 2).map(String);
      there.push(understood(main.where, keys.owners, name ?? '', () => ownerIn(name ?? '', value ?? '')));
    }
  }
  return there;
}

const outcomeUnknown =
  'it is not known whether the change was made. It may come into force within moments; to ask for it again does no harm';

/**
 * A script that changes policy, acknowledged by replicas where that is asked for.
 *
 * WAIT speaks of what its own connection has written: so both are sent together, to one server, and where the
 * connection breaks both fail.
 */
async function governed(
  { governing, waitReplicas }: GoverningSettings,
  script: Script,
  keys: readonly string[],
  args: readonly (string | Buffer)[],
): Promise<ScriptReply> {
  const { where } = governing;
  let isSent = false;
  const asked = governing.run(async client => {
    isSent = true;
    if (waitReplicas === 0) return { answer: await runScript(client, script, keys, args), replicas: 0 };
    const [reply, replicas] = await acknowledged(client, script, keys, args, waitReplicas, where);
    return { answer: answerIn(reply), replicas };
  });
  const { answer, replicas } = await asked.catch((error: unknown) => {
    throw isSent ? unlessRefused(error) : error;
  });
  if (answer.is === 'few') {
    throw away(
      where,
      `only ${Number(answer.with[0])} of ${waitReplicas} replicas (WAIT_REPLICAS) are there: nothing was changed`,
    );
  }
  if (sound(where, answer).is === 'kept' && replicas < waitReplicas) {
    throw away(
      where,
      `the change was made, but only ${replicas} of ${waitReplicas} replicas (WAIT_REPLICAS) acknowledged it within ` +
        `${replicaMs / 1000} s; it may be in force all the same`,
    );
  }
  return answer;
}

/** What Redis itself refused was not done; of what had no answer nobody can tell. */
function unlessRefused(error: unknown): unknown {
  if (!(error instanceof SoftquotaError) || error.code !== 'store_away') return error;
  const wasNotSent = error.cause instanceof Error && error.cause.message.includes('enableOfflineQueue');
  if (wasNotSent || replyCode(error.cause) !== null) return error;
  return new SoftquotaError('store_away', `${error.message}; ${outcomeUnknown}`, { cause: error });
}

async function acknowledged(
  client: RedisClient,
  script: Script,
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
