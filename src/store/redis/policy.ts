/**
 * Reads the policy as of one moment, however long it is, and its changes since a version.
 *
 * Each change of policy is one script, which increases the version. So if the version is the same before and
 * after a read, nothing has changed in between.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import type { DocumentRecord, OwnerRecord, Position } from '../record-store.ts';
import type { DocumentNames, PolicyRead, PolicyRecords, PolicySince, SharedState } from '../shared.ts';
import { pairs, pipeline, script, sendScript, serverLua } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { mustBeOfOurTypes } from './examine.ts';
import { away, redisSchema, strangeSchema } from './faults.ts';
import {
  decodeFieldName,
  documentIn,
  namesIn,
  numberIn,
  ownerFields,
  ownerIn,
  parseStored,
  textOf,
} from './keys.ts';

/** A reply to HGETALL, as the client returns it. */
type Hash = Readonly<Record<string, Buffer>>;

const serverScript = script(serverLua, `return {'kept', server()}`);

function positionIn(hash: Hash): Position | null {
  if (Object.keys(hash).length === 0) return null;
  const { generation, version, mark } = hash;
  if (!generation || !version || !mark) throw new TypeError('incomplete');
  return {
    generation: decodeFieldName(generation.toString()),
    version: numberIn(version.toString()),
    mark: decodeFieldName(mark.toString()),
  };
}

function supersedesIn(hash: Hash): readonly string[] {
  const read: unknown = JSON.parse(hash.supersedes?.toString() ?? '[]');
  if (!Array.isArray(read)) throw new TypeError('no list');
  return read.map(String);
}

export async function readState({ connection, keys, writer }: RedisContext): Promise<SharedState> {
  const { where } = connection;
  return connection.run(async client => {
    // Checks the keys that only changes need, too: otherwise changes would be refused while all else goes on.
    await mustBeOfOurTypes(client, keys, where, writer);
    // The id of the server is read first: if another server comes in between, the earlier one is named, and a
    // change for that one is refused.
    const [{ with: server }, [policy, usage, volatile]] = await Promise.all([
      sendScript(client, serverScript, [], []),
      pipeline(client, all => all.hgetallBuffer(keys.policy).hgetall(keys.usage).hget(keys.volatile, '.')),
    ]);
    const hash = policy as Hash;
    const found = hash.schema?.toString() ?? '';
    if (Object.keys(hash).length > 0 && found !== redisSchema) throw strangeSchema(where, keys.policy, found);
    return {
      position: parseStored(where, keys.policy, 'the position', () => positionIn(hash)),
      supersedes: parseStored(where, keys.policy, 'supersedes', () => supersedesIn(hash)),
      server: String(server[0] ?? '') || null,
      usage: parseStored(
        where,
        keys.usage,
        'a host',
        () =>
          new Map(
            Object.entries(usage as object).map(([name, place]) => [decodeFieldName(name), String(place)]),
          ),
      ),
      volatile: typeof volatile === 'string' ? volatile : null,
    };
  });
}

/** Limit of attempts to read something that changes meanwhile. */
const attempts = 20;
/** Fields that are read at a time: so few that they are handled without slices. */
const pageSize = 250;
/** Limit of changed fields that are read one by one; of more, the whole policy is read. */
const mostNames = 5000;

/** Reads all fields of a hash, some at a time, so that no long answer delays others. */
export async function* scanFields(
  { connection }: Pick<RedisContext, 'connection'>,
  key: string,
): AsyncGenerator<readonly (readonly [name: string, value: Buffer])[]> {
  const ask = (cursor: string) =>
    connection.run(client => client.hscanBuffer(key, cursor, 'COUNT', pageSize));
  for (let asked = ask('0'); ; ) {
    const [next, found] = await asked;
    const cursor = next.toString();
    if (cursor !== '0') {
      // The next page is read while this one is handled; its failure is reported when it is awaited.
      asked = ask(cursor);
      asked.catch(() => {});
    }
    yield pairs(found).map(([name, value]) => [name.toString(), value]);
    if (cursor === '0') return;
  }
}

/** One version of the policy, and what it changed. */
interface Entry {
  readonly version: number;
  readonly mark: string;
  /** The fields of changed owners and documents; null: too many. */
  readonly names: readonly string[] | null;
}

function entryIn(member: string): Entry {
  const [version = '', mark = '', ...names] = member.split(' ');
  return {
    version: numberIn(version),
    mark: decodeFieldName(mark),
    names: names[0] === '*' ? null : names,
  };
}

/** Owners and documents by their fields, which are never the same for both; null: deleted. */
type Fields = Map<string, OwnerRecord | DocumentRecord | null>;

const isDocument = (name: string) => name.includes('/');

function recordIn({ connection, keys }: RedisContext, name: string, value: Buffer) {
  return isDocument(name)
    ? parseStored(connection.where, keys.documents, name, () => documentIn(name, value))
    : parseStored(connection.where, keys.owners, name, () => ownerIn(name, textOf(value)));
}

function recordsIn({ connection, keys }: RedisContext, fields: Fields): PolicyRecords {
  const documents: DocumentRecord[] = [];
  const goneDocuments: DocumentNames[] = [];
  const owners: OwnerRecord[] = [];
  const goneOwners: string[] = [];
  const { where } = connection;
  for (const [name, record] of fields) {
    if (record !== null) {
      if ('text' in record) documents.push(record);
      else owners.push(record);
    } else if (isDocument(name)) {
      goneDocuments.push(parseStored(where, keys.changes, name, () => namesIn(name)));
    } else goneOwners.push(parseStored(where, keys.changes, name, () => decodeFieldName(name)));
  }
  return { documents, goneDocuments, owners, goneOwners };
}

interface FieldsSince extends Omit<PolicySince, 'change'> {
  /** Null for the same reasons as `PolicySince.change`. */
  readonly fields: Fields | null;
}

/**
 * Reads the changes since a version as of one moment: repeats with the fields that the last read named, until
 * no further ones come up.
 */
async function readFields(context: RedisContext, since: number): Promise<FieldsSince> {
  let asked: readonly string[] = [];
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const read = await context.connection.run(client => tryFields(context, client, since, asked));
    if (!Array.isArray(read)) return read as FieldsSince;
    asked = read;
  }
  throw away(context.connection.where, 'others change the policy all the time');
}

/** Reads the changes with these fields. Returns the names of all changed fields if these were not all. */
async function tryFields(
  context: RedisContext,
  client: Redis,
  since: number,
  asked: readonly string[],
): Promise<FieldsSince | readonly string[]> {
  const { connection, keys } = context;
  const { where } = connection;
  const documents = asked.filter(isDocument);
  const owners = asked.filter(name => !isDocument(name));
  const [hash, members, documentValues, ownerValues, after] = await pipeline(client, all =>
    all
      .hgetallBuffer(keys.policy)
      .zrangebyscore(keys.changes, since, '+inf')
      .hmgetBuffer(keys.documents, ...documents, '.')
      .hmgetBuffer(keys.owners, ...owners, '.')
      .hgetallBuffer(keys.policy),
  );
  const position = parseStored(where, keys.policy, 'the position', () => positionIn(hash as Hash));
  if (position === null) return { position, markThere: null, versions: [], fields: null };
  const entries = parseStored(where, keys.changes, 'an entry', () => (members as string[]).map(entryIn));
  const later = entries.filter(({ version }) => version > since && version <= position.version);
  const markThere = entries.find(({ version }) => version === since)?.mark ?? null;
  const { generation } = position;
  const versions = later.map(({ version, mark }) => ({ generation, version, mark }));
  const names = [...new Set(later.flatMap(each => each.names ?? []))];
  const isTold =
    later.length === position.version - since &&
    later.every(each => each.names !== null) &&
    names.length <= mostNames;
  if (!isTold) return { position, markThere, versions, fields: null };
  const fields: Fields = new Map();
  const put = (its: readonly string[], values: unknown) => {
    for (const [at, name] of its.entries()) {
      const value = (values as (Buffer | null)[])[at];
      fields.set(name, value ? recordIn(context, name, value) : null);
    }
  };
  put(documents, documentValues);
  put(owners, ownerValues);
  const isWhole = isDeepStrictEqual(hash, after) && names.every(name => fields.has(name));
  return isWhole ? { position, markThere, versions, fields } : names;
}

interface OwnerComparison {
  /** The mark of the policy that was compared with; null: there is none. */
  readonly mark: string | null;
  readonly lacking: readonly OwnerRecord[];
  /** Their records in the store. */
  readonly others: readonly OwnerRecord[];
}

/** Returns those of these owners whom the store lacks, and those of whom it has another record. */
export async function compareOwners(
  { connection, keys }: RedisContext,
  known: readonly OwnerRecord[],
): Promise<OwnerComparison> {
  const fields = known.map(ownerFields);
  const [values, mark] = await connection.run(client =>
    pipeline(client, all =>
      all.hmget(keys.owners, ...fields.map(([name]) => name)).hget(keys.policy, 'mark'),
    ),
  );
  const lacking: OwnerRecord[] = [];
  const others: OwnerRecord[] = [];
  for (const [at, owner] of known.entries()) {
    const [name, text] = fields[at] ?? [];
    const value = (values as (string | null)[])[at] ?? null;
    if (value === null || name === undefined) lacking.push(owner);
    else if (value !== text) {
      others.push(parseStored(connection.where, keys.owners, name, () => ownerIn(name, value)));
    }
  }
  return { mark: typeof mark === 'string' ? decodeFieldName(mark) : null, lacking, others };
}

/** Reads what has changed in the policy since a version. */
export async function readSince(
  context: RedisContext,
  { version }: Pick<Position, 'version'>,
): Promise<PolicySince> {
  const { fields, ...since } = await readFields(context, version);
  return { ...since, change: fields === null ? null : recordsIn(context, fields) };
}

/** Reads the whole policy: some fields at a time, and then the changes since it began. */
export async function readPolicy(context: RedisContext): Promise<PolicyRead> {
  const { connection, keys } = context;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const state = await readState(context);
    const fields: Fields = new Map();
    for (const key of [keys.owners, keys.documents]) {
      for await (const page of scanFields(context, key))
        for (const [name, value] of page) fields.set(name, recordIn(context, name, value));
    }
    const since = await readFields(context, state.position?.version ?? 0);
    const isSame = isDeepStrictEqual(since.position, state.position);
    const isLater =
      since.position?.generation === state.position?.generation && since.markThere === state.position?.mark;
    if (!isSame && !(isLater && since.fields !== null)) continue;
    for (const [name, value] of since.fields ?? []) fields.set(name, value);
    const { owners, documents } = recordsIn(context, fields);
    return { state: { ...state, position: since.position }, policy: { owners, documents } };
  }
  throw away(connection.where, 'others change the policy all the time');
}
