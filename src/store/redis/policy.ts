/** The policy as it stands: read as of one moment, however long it is. */

import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import { inSlices } from '../../slices.ts';
import type { DocumentRecord, Position } from '../record-store.ts';
import type { DocumentNames, SharedPolicy, SharedState } from '../shared.ts';
import { pairs, sendScript } from './commands.ts';
import type { RedisContext } from './context.ts';
import { strangeSchema } from './faults.ts';
import { newestNumber } from './log.ts';
import { type Fill, multi, pipeline } from './pipeline.ts';
import * as scripts from './policy-scripts.ts';
import {
  decodeFieldName,
  documentIn,
  documentName,
  numberIn,
  ownerIn,
  parseStored,
  textOf,
} from './values.ts';

/** Milliseconds that a whole policy may be on its way. */
const wholeMs = 10_000;

/** A reply to HGETALL, as the client has given it. */
type Hash = Readonly<Record<string, Buffer>>;

/** Reads the position from the policy's hash; null where there is no policy. */
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

/** The state, and what else is asked, as of one moment. */
async function stateAnd(
  { connection: { where }, keys }: RedisContext,
  client: Redis,
  fill: Fill,
): Promise<[SharedState, ...unknown[]]> {
  const { policy } = keys;
  // Asked first: where another server comes in between, the one before is named, and nothing is changed
  // there.
  const [{ with: server }, [hash, newest, ...rest]] = await Promise.all([
    sendScript(client, scripts.server, [keys.order], []),
    unchanged(client, policy, all => fill(all.xrevrange(keys.log, '+', '-', 'COUNT', 1))),
  ]);
  const schema = hash.schema?.toString() ?? '';
  if (Object.keys(hash).length > 0 && schema !== '1') throw strangeSchema(where, policy, schema);
  const state = {
    position: parseStored(where, policy, 'the position', () => positionIn(hash)),
    supersedes: parseStored(where, policy, 'supersedes', () => supersedesIn(hash)),
    lastChange: newestNumber(newest),
    server: String(server[0] ?? '') || null,
  };
  return [state, ...rest];
}

export async function readState(context: RedisContext): Promise<SharedState> {
  const [state] = await context.connection.run(client => stateAnd(context, client, all => all));
  return state;
}

/** Number of times that the policy is read again if it was changed while it was read. */
const attempts = 4;

/** Records that are on their way at a time. */
const pageSize = 1000;

/**
 * The policy's hash, and what else is asked, as of one moment.
 *
 * Every change moves the policy on, so what is read between two equal looks at its place has not changed
 * meanwhile. Only where it changes all the time is it read in a transaction.
 */
async function unchanged(client: Redis, policy: string, fill: Fill): Promise<[Hash, ...unknown[]]> {
  for (let attempt = 1; attempt < attempts; attempt++) {
    const answers = await pipeline(client, all => fill(all.hgetallBuffer(policy)).hgetallBuffer(policy));
    const [before, after] = [answers[0] as Hash, answers.at(-1) as Hash];
    if (isDeepStrictEqual(before, after)) return [before, ...answers.slice(1, -1)];
  }
  const [hash, ...answers] = await multi(client, all => fill(all.hgetallBuffer(policy)));
  return [hash as Hash, ...answers];
}

type PolicyRead = { readonly state: SharedState; readonly policy: SharedPolicy };

export async function readPolicy(context: RedisContext): Promise<PolicyRead> {
  for (let attempt = 1; attempt < attempts; attempt++) {
    const read = await readInPages(context);
    if (read !== null) return read;
  }
  return readWhole(context);
}

/**
 * So that nobody waits for a long answer. Null: it was changed meanwhile, or another server has taken the
 * place of the one that was asked; with as many records at the end as there were at first, and all along,
 * none was left out.
 */
async function readInPages(context: RedisContext): Promise<PolicyRead | null> {
  const { connection, keys } = context;
  const look = async () => {
    const state = await readState(context);
    const counts = await connection.run(client =>
      pipeline(client, all => all.hlen(keys.owners).hlen(keys.documents)),
    );
    return { state, counts };
  };
  const before = await look();
  const owners = await scanned(context, keys.owners, (name, value) => ownerIn(name, textOf(value)));
  const documents = await scanned(context, keys.documents, documentIn);
  const after = await look();
  const isSame =
    isDeepStrictEqual(before.state.position, after.state.position) &&
    isDeepStrictEqual(before.state.supersedes, after.state.supersedes) &&
    isDeepStrictEqual(before.counts, after.counts) &&
    isDeepStrictEqual(after.counts, [owners.length, documents.length]);
  return isSame ? { state: before.state, policy: { owners, documents } } : null;
}

async function scanned<T>(
  { connection }: RedisContext,
  key: string,
  read: (name: string, value: Buffer) => T,
): Promise<readonly T[]> {
  const records = new Map<string, T>();
  for (let cursor = '0'; ; ) {
    const [next, found] = await connection.run(client => client.hscanBuffer(key, cursor, 'COUNT', pageSize));
    for (const [field, value] of pairs(found)) {
      const name = field.toString();
      records.set(
        name,
        parseStored(connection.where, key, name, () => read(name, value)),
      );
    }
    cursor = next.toString();
    if (cursor === '0') return [...records.values()];
  }
}

async function readWhole(context: RedisContext): Promise<PolicyRead> {
  const { connection, keys } = context;
  await connection.run(client => client.exists(keys.policy));
  const [state, owners, documents] = await connection.run(
    client => stateAnd(context, client, all => all.hgetallBuffer(keys.owners).hgetallBuffer(keys.documents)),
    wholeMs,
  );
  const records = async <T>(key: string, hash: unknown, read: (name: string, value: Buffer) => T) => {
    const list: T[] = [];
    // HGETALL gives a hash.
    await inSlices(Object.entries(hash as Hash), ([name, value]) => {
      list.push(parseStored(connection.where, key, name, () => read(name, value)));
    });
    return list;
  };
  return {
    state,
    policy: {
      owners: await records(keys.owners, owners, (name, value) => ownerIn(name, textOf(value))),
      documents: await records(keys.documents, documents, documentIn),
    },
  };
}

/** Those of these volatile documents that are there; all without names. Null: none were ever written. */
export async function readVolatile(
  context: RedisContext,
  names: readonly DocumentNames[] | null,
): Promise<readonly DocumentRecord[] | null> {
  const {
    connection,
    keys: { volatile: key },
  } = context;
  const read = (name: string, value: Buffer) => (name === '.' ? null : documentIn(name, value));
  if (names === null) {
    if ((await connection.run(client => client.exists(key))) === 0) return null;
    return (await scanned(context, key, read)).filter(record => record !== null);
  }
  if (names.length === 0) return [];
  const fields = names.map(documentName);
  const values = await connection.run(client => client.hmgetBuffer(key, ...fields));
  return fields.flatMap((name, at) => {
    const value = values[at];
    return value ? [parseStored(connection.where, key, name, () => documentIn(name, value))] : [];
  });
}
