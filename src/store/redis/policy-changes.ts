/**
 * Changes the policy: as a whole, each change upon the one before, on as many replicas as the settings ask
 * for.
 */

import { randomUUID } from 'node:crypto';
import { inSlices, parts } from '../../turns.ts';
import type { Position } from '../record-store.ts';
import type { PolicyChange, SharedPolicy } from '../shared.ts';
import { expectTypes, runReplicated, script, sendScript, serverLua, type Word, words } from './commands.ts';
import type { Connection, RedisContext } from './connection.ts';
import { eventWords, putEvents } from './events.ts';
import { away, redisSchema } from './faults.ts';
import { documentFields, documentName, fieldName, ownerFields } from './keys.ts';

/** Records of a policy that are sent at a time. */
const stageSize = 2000;
/** Milliseconds after which staged parts of a policy expire, if they are not put in place. */
const stagedMs = 60_000;
/** Number of versions whose changes are kept. */
const mostVersions = 10_000;
/** Limit of characters for the names of one change; beyond it only the fact of a change is kept. */
const longestNames = 16_384;

/**
 * Begins a change of policy to a position. A change that too few replicas would get is not written at all,
 * since a master that was cut off or replaced continues alone. Expects the types of its KEYS to be checked,
 * and the locals `policy` and `changes`. The number of replicas that are online is nil if the server does not
 * say.
 */
const begin = `
local function replicas()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' or not string.find(info, 'connected_slaves:') then return nil end
  local _, count = string.gsub(info, 'state=online', '')
  return count
end
local found = redis.call('HGET', policy, 'schema')
if found ~= '${redisSchema}' and (found or redis.call('EXISTS', policy) == 1) then
  return {'schema', found or '', policy}
end
local wanted, there = tonumber(word()), replicas()
if there and there < wanted then return {'few', there} end
local news, host, generation, version, mark = word(), word(), word(), word(), word()
local stands = redis.call('HMGET', policy, 'generation', 'version', 'mark')
local function stands_at(generation, version, mark)
  return stands[1] == generation and stands[2] == version and stands[3] == mark
end
local function put_position(...)
  redis.call('HSET', policy, 'schema', '${redisSchema}', 'generation', generation, 'version', version, 'mark', mark,
    'at', redis.call('TIME')[1], 'host', host, ...)
end
local function tell(version, mark, names)
  redis.call('ZADD', changes, version, version .. ' ' .. mark .. ' ' .. names)
end
local function told()
  redis.call('ZREMRANGEBYRANK', changes, 0, -${mostVersions + 1})
  redis.pcall('PUBLISH', news, version)
  return {'kept', version}
end`;

/**
 * Commits a change upon the given position, if the owners have the expected ids and the server is the
 * expected one. KEYS: policy, documents, owners, changes, events, times.
 */
const commitScript = script(
  serverLua,
  putEvents,
  expectTypes('hash', 'hash', 'hash', 'zset', 'hash', 'zset'),
  `
local policy, documents, owners, changes = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
${begin}
if not stands_at(word(), word(), word()) then return {'conflict'} end
version = string.format('%.0f', stands[2] + 1)
local meant, names = word(), word()
if meant ~= '' and meant ~= server() then return {'conflict'} end
local gone_owners, new_owners = words(), words()
local is_gone = {}
for place = gone_owners[1], gone_owners[2] do
  if redis.call('HEXISTS', owners, ARGV[place]) == 0 then return {'conflict'} end
  is_gone[ARGV[place]] = true
end
for place = new_owners[1], new_owners[2], 2 do
  local there = not is_gone[ARGV[place]] and redis.call('HGET', owners, ARGV[place])
  local id = '^{"id":(-?%d+)'
  if there and string.match(there, id) ~= string.match(ARGV[place + 1], id) then return {'conflict'} end
end
put_position()
drop(owners, gone_owners)
drop(documents, words())
put(owners, new_owners)
put(documents, words())
put_events(KEYS[5], KEYS[6])
tell(version, mark, names)
return told()`,
);

/** Stages a part of a policy. KEYS: the staging key. */
const stageScript = script(`
put(KEYS[1], words())
redis.call('PEXPIRE', KEYS[1], word())
return {'kept'}`);

/**
 * Replaces the policy by the staged one. RENAME, which the user may not be allowed, is tried first on a key
 * that does not exist: otherwise a policy would get a position, but no documents. KEYS: policy, documents,
 * owners, changes, staged documents, staged owners, a key that does not exist.
 */
const replaceScript = script(
  expectTypes('hash', 'hash', 'hash', 'zset', 'hash', 'hash'),
  `
local policy, changes = KEYS[1], KEYS[4]
${begin}
local supersedes, basis, through = word(), words(), words()
local upon = { unpack(ARGV, basis[1], basis[2]) }
if not stands_at(upon[1] or false, upon[2] or false, upon[3] or false) then
  redis.call('UNLINK', KEYS[5], KEYS[6])
  return {'conflict'}
end
for place = 5, 6 do
  if redis.call('HLEN', KEYS[place]) ~= tonumber(word()) then return {'lost', KEYS[place]} end
end
local spare = KEYS[7]
redis.call('UNLINK', spare)
redis.call('PERSIST', spare)
local may_rename = redis.pcall('RENAME', spare, spare)
if not string.find(may_rename.err, 'no such key') then return may_rename end
put_position('supersedes', supersedes)
for place = 5, 6 do
  redis.call('UNLINK', KEYS[place - 3])
  if redis.call('EXISTS', KEYS[place]) == 1 then
    redis.call('RENAME', KEYS[place], KEYS[place - 3])
    redis.call('PERSIST', KEYS[place - 3])
  end
end
redis.call('UNLINK', changes)
for place = through[1], through[2], 2 do tell(ARGV[place], ARGV[place + 1], '*') end
return told()`,
);

function positionWords({ generation, version, mark }: Position) {
  return [fieldName(generation), String(version), fieldName(mark)];
}

/** Returns the arguments that every script that changes policy reads first. */
function beginWords({ waitReplicas, keys, writer }: RedisContext, next: Position) {
  return [String(waitReplicas), keys.news, fieldName(writer), ...positionWords(next)];
}

/** Returns the names of the fields that a change writes or deletes, in the form of `changes`. */
function namesOf({ owners = [], goneOwners = [], documents = [], goneDocuments = [] }: PolicyChange): string {
  const names = [
    ...[...goneOwners, ...owners.map(({ key }) => key)].map(fieldName),
    ...[...goneDocuments, ...documents].map(documentName),
  ].join(' ');
  return names.length > longestNames ? '*' : names;
}

/**
 * Makes one change of documents and owners, as a whole, upon `basis`, and waits for as many replicas as the
 * settings ask for. Returns the new position. Null, and nothing is written: another change came first, the
 * store has another owner under a key, or another server than the named one answers. Rejects with
 * `store_away`, also if replicas did not acknowledge in time: then the change may be in force all the same.
 */
export async function commit(
  context: RedisContext,
  asked: PolicyChange,
  basis: Position,
  mark: string,
  server: string | null = null,
): Promise<Position | null> {
  const { policy, documents: to, owners: toOwners, changes, events, times } = context.keys;
  const { owners = [], goneOwners = [], documents = [], goneDocuments = [] } = asked;
  // The script sets the version.
  const next = { generation: basis.generation, version: 0, mark };
  const reply = await runReplicated(
    context,
    commitScript,
    [policy, to, toOwners, changes, events, times],
    [
      ...beginWords(context, next),
      ...positionWords(basis),
      server ?? '',
      namesOf(asked),
      ...words(goneOwners.map(fieldName)),
      ...words(owners.flatMap(ownerFields)),
      ...words(goneDocuments.map(documentName)),
      ...words(documents.flatMap(documentFields)),
      ...eventWords(context, asked),
    ],
  );
  return reply.is === 'kept' ? { ...next, version: Number(reply.with[0]) } : null;
}

/**
 * Replaces the whole policy; `positions`: the versions that led to it, the new position last. `conflict`: the
 * store is not at `basis` any more (null: is not empty).
 */
export async function replace(
  context: RedisContext,
  whole: SharedPolicy,
  basis: Position | null,
  positions: readonly Position[],
  supersedes: readonly string[],
): Promise<'kept' | 'conflict'> {
  const next = positions.at(-1);
  if (next === undefined) throw new TypeError('no position to come to');
  const { policyConnection, keys } = context;
  const id = randomUUID();
  const [documents, owners] = [keys.staged(id, 'documents'), keys.staged(id, 'owners')];
  const counts = [
    await stage(policyConnection, documents, whole.documents, documentFields),
    await stage(policyConnection, owners, whole.owners, ownerFields),
  ];
  const { policy, documents: to, owners: toOwners, changes } = keys;
  const reply = await runReplicated(
    context,
    replaceScript,
    [policy, to, toOwners, changes, documents, owners, keys.staged(id, 'spare')],
    [
      ...beginWords(context, next),
      JSON.stringify(supersedes),
      ...words(basis === null ? [] : positionWords(basis)),
      ...words(positions.flatMap(({ version, mark }) => [String(version), fieldName(mark)])),
      ...counts.map(String),
    ],
  );
  if (reply.is === 'lost') throw away(policyConnection.where, 'a policy that was on its way is gone');
  return reply.is === 'kept' ? 'kept' : 'conflict';
}

/** Stages the records of a policy, and returns their number. */
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
    await connection.run(client => sendScript(client, stageScript, [key], args));
  }
  return fields.size;
}
