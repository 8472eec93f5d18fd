/** The policy as it stands: read as of one moment, however long it is. */

import { isDeepStrictEqual } from 'node:util';
import type { ChainableCommander } from 'ioredis';
import type { DocumentRecord, Position } from '../record-store.ts';
import { type DocumentNames, type Heads, lines, type SharedPolicy, type SharedState } from '../shared.ts';
import type { RedisClient } from './address.ts';
import { inTurns, multi, pipeline, runScript, strangeSchema } from './asked.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import { newestNumber } from './log.ts';
import * as scripts from './policy-scripts.ts';
import { documentIn, documentName, numberIn, ownerIn, textOf, understood, unnamed } from './values.ts';

/** How long a whole policy may be on its way, in milliseconds. */
const wholeMs = 10_000;

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

/**
 * A store without heads was written before there were any: then each line was changed last with the whole.
 */
function headsIn(where: string, key: string, hash: Readonly<Record<string, Buffer>>, whole: Position): Heads {
  return understood(where, key, 'the heads', () => {
    const heads = lines.map(line => {
      const [version, mark] = [hash[`${line}_version`], hash[`${line}_mark`]];
      if (!version || !mark) return [line, { version: whole.version, mark: whole.mark }];
      return [line, { version: numberIn(version.toString()), mark: unnamed(mark.toString()) }];
    });
    // One of each line.
    return Object.fromEntries(heads) as Heads;
  });
}

function stateIn(
  where: string,
  { policy }: Keys,
  hash: Readonly<Record<string, Buffer>>,
  newest: unknown,
  server: string | null,
) {
  const position = positionIn(where, policy, hash);
  const supersedes = understood(where, policy, 'supersedes', () => {
    const read: unknown = JSON.parse(hash.supersedes?.toString() ?? '[]');
    if (!Array.isArray(read)) throw new TypeError('no list');
    return read.map(String);
  });
  const heads = position === null ? null : headsIn(where, policy, hash, position);
  return { position, heads, supersedes, lastChange: newestNumber(newest), server } satisfies SharedState;
}

/** A reply to HGETALL, as the client has given it. */
type Hash = Readonly<Record<string, Buffer>>;

export async function readState(connection: Connection, keys: Keys): Promise<SharedState> {
  return connection.run(async client => {
    // Asked first: where another server comes in between, the one before is named, and nothing is changed
    // there.
    const [server, [hash, newest]] = await Promise.all([
      serverThere(client, keys),
      unchanged(client, keys, all => all.xrevrange(keys.log, '+', '-', 'COUNT', 1)),
    ]);
    return stateIn(connection.where, keys, hash, newest, server);
  });
}

async function serverThere(client: RedisClient, { order }: Keys): Promise<string | null> {
  const { with: found } = await runScript(client, scripts.server, [order], []);
  return String(found[0] ?? '') || null;
}

/** So often the policy is read again that was changed while it was read. */
const attempts = 4;

/** Records that are on their way at a time. */
const pageSize = 1000;

/**
 * The policy's hash, and what else is asked, as of one moment.
 *
 * Every change moves the policy on, so what is read between two equal looks at its place has not changed
 * meanwhile. Only where it changes all the time is it read in a transaction.
 */
async function unchanged(
  client: RedisClient,
  { policy }: Keys,
  fill: (questions: ChainableCommander) => ChainableCommander,
): Promise<[Hash, ...unknown[]]> {
  for (let attempt = 1; attempt < attempts; attempt++) {
    const answers = await pipeline(client, all => fill(all.hgetallBuffer(policy)).hgetallBuffer(policy));
    const [before, after] = [answers[0] as Hash, answers.at(-1) as Hash];
    if (isDeepStrictEqual(before, after)) return [before, ...answers.slice(1, -1)];
  }
  const [hash, ...answers] = await multi(client, all => fill(all.hgetallBuffer(policy)));
  return [hash as Hash, ...answers];
}

type PolicyRead = { readonly state: SharedState; readonly policy: SharedPolicy };

export async function readPolicy(connection: Connection, keys: Keys): Promise<PolicyRead> {
  for (let attempt = 1; attempt < attempts; attempt++) {
    const read = await readInPages(connection, keys);
    if (read !== null) return read;
  }
  return readWhole(connection, keys);
}

/**
 * So that nobody waits for a long answer. Null: it was changed meanwhile, or another server has taken the
 * place of the one that was asked; with as many records at the end as there were at first, and all along,
 * none was left out.
 */
async function readInPages(connection: Connection, keys: Keys): Promise<PolicyRead | null> {
  const look = async () => {
    const state = await readState(connection, keys);
    const counts = await connection.run(client =>
      pipeline(client, all => all.hlen(keys.owners).hlen(keys.documents)),
    );
    return { state, counts };
  };
  const before = await look();
  const owners = await scanned(connection, keys.owners, (name, value) => ownerIn(name, textOf(value)));
  const documents = await scanned(connection, keys.documents, documentIn);
  const after = await look();
  const isSame =
    isDeepStrictEqual(before.state.position, after.state.position) &&
    isDeepStrictEqual(before.state.supersedes, after.state.supersedes) &&
    isDeepStrictEqual(before.counts, after.counts) &&
    isDeepStrictEqual(after.counts, [owners.length, documents.length]);
  return isSame ? { state: before.state, policy: { owners, documents } } : null;
}

async function scanned<T>(
  connection: Connection,
  key: string,
  read: (name: string, value: Buffer) => T,
): Promise<readonly T[]> {
  const records = new Map<string, T>();
  for (let cursor = '0'; ; ) {
    const [next, found] = await connection.run(client => client.hscanBuffer(key, cursor, 'COUNT', pageSize));
    for (let at = 0; at + 1 < found.length; at += 2) {
      const [name, value] = [found[at]?.toString() ?? '', found[at + 1] ?? Buffer.alloc(0)];
      records.set(
        name,
        understood(connection.where, key, name, () => read(name, value)),
      );
    }
    cursor = next.toString();
    if (cursor === '0') return [...records.values()];
  }
}

async function readWhole(connection: Connection, keys: Keys): Promise<PolicyRead> {
  await connection.run(client => client.exists(keys.policy));
  const { state, owners, documents } = await connection.run(async client => {
    const [server, [hash, newest, owners, documents]] = await Promise.all([
      serverThere(client, keys),
      unchanged(client, keys, all =>
        all
          .xrevrange(keys.log, '+', '-', 'COUNT', 1)
          .hgetallBuffer(keys.owners)
          .hgetallBuffer(keys.documents),
      ),
    ]);
    return { state: stateIn(connection.where, keys, hash, newest, server), owners, documents };
  }, wholeMs);
  const records = <T>(key: string, hash: Hash, read: (name: string, value: Buffer) => T) =>
    inTurns(Object.entries(hash), ([name, value]) =>
      understood(connection.where, key, name, () => read(name, value)),
    );
  return {
    state,
    policy: {
      owners: await records(keys.owners, owners as Hash, (name, value) => ownerIn(name, textOf(value))),
      documents: await records(keys.documents, documents as Hash, documentIn),
    },
  };
}

/** Those of these volatile documents that are there; all without names. Null: none were ever written. */
export async function readVolatile(
  connection: Connection,
  { volatile: key }: Keys,
  names: readonly DocumentNames[] | null,
): Promise<readonly DocumentRecord[] | null> {
  const read = (name: string, value: Buffer) => (name === '.' ? null : documentIn(name, value));
  if (names === null) {
    if ((await connection.run(client => client.exists(key))) === 0) return null;
    return (await scanned(connection, key, read)).filter(record => record !== null);
  }
  if (names.length === 0) return [];
  const fields = names.map(documentName);
  const values = await connection.run(client => client.hmgetBuffer(key, ...fields));
  return fields.flatMap((name, at) => {
    const value = values[at];
    return value ? [understood(connection.where, key, name, () => documentIn(name, value))] : [];
  });
}
