/**
 * Changing the policy: as a whole, each change upon the one before, and on as many replicas as are asked for.
 */

import { randomUUID } from 'node:crypto';
import { inSlices } from '../../slices.ts';
import type { OwnerRecord, Position, RecordChanges } from '../record-store.ts';
import type { PolicyChange, SharedPolicy, VolatileChange } from '../shared.ts';
import { pairs, parts, runScript, type ScriptReply, sendScript, type Word, words } from './commands.ts';
import type { Connection } from './connection.ts';
import type { RedisContext } from './context.ts';
import { away } from './faults.ts';
import { fieldName } from './keys.ts';
import { tellable } from './log.ts';
import type { Script } from './lua.ts';
import { sendNumbered } from './order.ts';
import * as scripts from './policy-scripts.ts';
import { runReplicated } from './replicated.ts';
import {
  documentFields,
  documentName,
  eventFields,
  ownerFields,
  ownerIn,
  parseStored,
  sentAs,
  timeOf,
} from './values.ts';

/** Records of a policy that are sent at a time. */
const stageSize = 2000;
/** Milliseconds that parts of a policy lie there, should nobody put them in place. */
const stagedMs = 60_000;
/** Owners in one entry of the log. */
const enrolledAtOnce = 250;
/** Names in one entry of the log; of more it is only told that there were some. */
const mostNames = 200;
/** Old events that go at a time. */
const prunedAtOnce = 1000;

function ownerWords({ owners = [], goneOwners = [] }: RecordChanges) {
  return [...words(goneOwners.map(fieldName)), ...words(owners.flatMap(ownerFields))];
}

function documentWords({ documents = [], goneDocuments = [] }: RecordChanges) {
  return [...words(goneDocuments.map(documentName)), ...words(documents.flatMap(documentFields))];
}

function recordWords({ mostEvents }: RedisContext, changes: RecordChanges) {
  const { events = [], goneEventsBefore, levels = [], goneLevels = [] } = changes;
  return [
    String(mostEvents),
    goneEventsBefore === undefined ? '' : timeOf(goneEventsBefore),
    ...words(goneLevels.map(String)),
    ...words(events.flatMap(eventFields)),
    ...words(levels.flatMap(({ ownerId, text }) => [String(ownerId), sentAs(text)])),
  ];
}

function positionWords({ generation, version, mark }: Position) {
  return [fieldName(generation), String(version), fieldName(mark)];
}

/** The arguments that every script that changes policy reads first. */
function beginWords({ waitReplicas, keys }: RedisContext, next: Position) {
  return [String(waitReplicas), keys.news, ...positionWords(next)];
}

/** Takes the policy to the next position; `basis` is what the script compares with the store. */
function changePolicy(
  context: RedisContext,
  script: Script,
  next: Position,
  basis: readonly Word[],
  changes: RecordChanges,
): Promise<ScriptReply> {
  const { events, places, levels, policy, documents, owners, log, order } = context.keys;
  return runReplicated(
    context,
    script,
    [events, places, levels, policy, documents, owners, log, order],
    [
      ...beginWords(context, next),
      tellable(changes),
      ...basis,
      ...ownerWords(changes),
      ...documentWords(changes),
      ...recordWords(context, changes),
    ],
  );
}

export async function commit(
  context: RedisContext,
  change: PolicyChange,
  basis: Position,
  mark: string,
  server: string | null,
): Promise<Position | null> {
  // The script takes the next version itself.
  const next = { generation: basis.generation, version: 0, mark };
  const from = [...positionWords(basis), server ?? ''];
  const reply = await changePolicy(context, scripts.commit, next, from, change);
  return reply.is === 'kept' ? { ...next, version: Number(reply.with[0]) } : null;
}

export async function writeVolatile(context: RedisContext, change: VolatileChange): Promise<void> {
  const { documents = [], goneDocuments = [] } = change;
  const { volatile, log, news } = context.keys;
  const names = [...goneDocuments, ...documents].map(documentName);
  await runScript(
    context,
    scripts.writeVolatile,
    [volatile, log],
    [news, names.length > mostNames ? '' : names.join(' '), ...documentWords(change)],
  );
}

export async function restore(
  context: RedisContext,
  change: Omit<PolicyChange, 'events'>,
  basis: Position,
  positions: readonly Position[],
): Promise<'kept' | 'conflict'> {
  const next = positions.at(-1);
  if (next === undefined) throw new TypeError('no position to come to');
  const through = positions.slice(0, -1).flatMap(({ version, mark }) => [String(version), fieldName(mark)]);
  const from = [...positionWords(basis), ...words(through)];
  const reply = await changePolicy(context, scripts.restore, next, from, { ...change, events: [] });
  return outcomeOf(reply);
}

function outcomeOf({ is }: ScriptReply): 'kept' | 'conflict' {
  return is === 'kept' ? 'kept' : 'conflict';
}

/** All of a write but the shares. */
export async function writeRecords(context: RedisContext, changes: RecordChanges): Promise<void> {
  const { keys, writer } = context;
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = changes;
  await pruneEvents(context, changes.goneEventsBefore);
  if (owners.length + goneOwners.length + documents.length + goneDocuments.length > 0) {
    const first = { generation: randomUUID(), version: 1, mark: randomUUID() };
    await changePolicy(context, scripts.write, first, [], changes);
    return;
  }
  const records = recordWords(context, changes);
  const recordKeys = [keys.events, keys.places, keys.levels, keys.order];
  await sendNumbered(context, [records], (client, _, order) =>
    sendScript(client, scripts.record, recordKeys, [fieldName(writer ?? ''), String(order), ...records]),
  );
}

/** All but the last few of old events go beforehand, for each takes its time while nobody else is served. */
async function pruneEvents(context: RedisContext, before: number | undefined): Promise<void> {
  if (before === undefined) return;
  const { events, places, levels } = context.keys;
  const args = [timeOf(before), String(prunedAtOnce)];
  for (let pruned = prunedAtOnce; pruned >= prunedAtOnce; ) {
    const reply = await runScript(context, scripts.prune, [events, places, levels], args);
    pruned = Number(reply.with[0]);
  }
}

export async function replace(
  context: RedisContext,
  whole: SharedPolicy,
  basis: Position | null,
  next: Position,
  supersedes: readonly string[],
): Promise<'kept' | 'conflict'> {
  const { policyConnection, keys } = context;
  const id = randomUUID();
  const [documents, owners] = [keys.staged(id, 'documents'), keys.staged(id, 'owners')];
  const counts = [
    await stage(policyConnection, documents, whole.documents, documentFields),
    await stage(policyConnection, owners, whole.owners, ownerFields),
  ];
  const spare = keys.staged(id, 'spare');
  const reply = await runReplicated(
    context,
    scripts.replace,
    [keys.policy, keys.documents, keys.owners, keys.log, documents, owners, keys.order, spare],
    [
      ...beginWords(context, next),
      JSON.stringify(supersedes),
      ...words(basis === null ? [] : positionWords(basis)),
      ...counts.map(String),
    ],
  );
  if (reply.is === 'lost') throw away(policyConnection.where, 'a policy that was on its way is gone');
  return outcomeOf(reply);
}

/** Sends the records of a policy on its way, and returns how many they are. */
async function stage<T>(
  connection: Connection,
  key: string,
  records: readonly T[],
  fieldsOf: (record: T) => [string, Word],
): Promise<number> {
  const fields = new Map<string, Word>();
  await inSlices(records, record => fields.set(...fieldsOf(record)));
  for (const part of parts([...fields], stageSize)) {
    const args = [...words(part.flat()), String(stagedMs)];
    await connection.run(client => sendScript(client, scripts.stage, [key], args));
  }
  return fields.size;
}

export async function enroll(
  context: RedisContext,
  list: readonly OwnerRecord[],
): Promise<readonly OwnerRecord[]> {
  const { connection, keys } = context;
  const there: OwnerRecord[] = [];
  for (const some of parts(list, enrolledAtOnce)) {
    const fields = words(some.flatMap(ownerFields));
    const enrollKeys = [keys.owners, keys.log, keys.order];
    const [reply] = await sendNumbered(context, [fields], (client, _, order) =>
      sendScript(client, scripts.enroll, enrollKeys, [keys.news, String(order), ...fields]),
    );
    for (const [name, value] of pairs((reply?.with ?? []).map(String))) {
      there.push(parseStored(connection.where, keys.owners, name, () => ownerIn(name, value)));
    }
  }
  return there;
}
