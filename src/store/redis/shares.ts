/**
 * What hosts say that owners store.
 *
 * A change goes to the owners' hashes first and into the log then, so that who reads after the log told of it
 * finds it. Who is listed as measured has been told of in the same way: so a share whose writing broke off
 * may be read late, and is written again by the host that had no answer.
 */

import { type Leaf, leaves } from '../../quota/index.ts';
import type { RecordChanges, ShareRecord } from '../record-store.ts';
import { contentOfShare, type ShareContent, shareOf } from '../share.ts';
import type { SharesPage } from '../shared.ts';
import type { RedisClient } from './address.ts';
import { mapConcurrent, runScript, type ScriptReply, sound, type Word, words } from './asked.ts';
import type { Connection } from './connection.ts';
import { fieldName, type Keys } from './keys.ts';
import { saidInOrder } from './order.ts';
import * as scripts from './share-scripts.ts';
import { numberIn, understood, unnamed } from './values.ts';

/** Owners told of in one entry of the log. */
const toldAtOnce = 250;

const about = 'about';
/** In its place where the host has said that the owner stores nothing there. */
const departed = 'gone';

export type Edits = readonly (readonly [ownerKey: string, edit: Edit])[];

/** What hosts say of one owner: null that nothing is there. */
export type Edit = readonly (readonly [host: string, content: ShareContent | null])[];

/** By owner's key, in the order in which they are named first. Throws `invalid` where a share is none. */
export function editsOf({
  shares = [],
  goneShares = [],
}: Pick<RecordChanges, 'shares' | 'goneShares'>): Edits {
  // By owner and host: null where the share goes.
  const wanted = new Map<string, Map<string, ShareContent | null>>();
  const want = (ownerKey: string, host: string, content: ShareContent | null) => {
    const hosts = wanted.get(ownerKey) ?? new Map<string, ShareContent | null>();
    wanted.set(ownerKey, hosts.set(host, content));
  };
  for (const { ownerKey, host } of goneShares) want(ownerKey, host, null);
  for (const share of shares) want(share.ownerKey, share.host, contentOfShare(share));
  return [...wanted].map(([ownerKey, hosts]) => [ownerKey, [...hosts]]);
}

function fieldOf(host: string, what: Leaf | typeof about | typeof departed): string {
  return `${fieldName(host)}/${what}`;
}

/** As the script reads it: the hosts, then the fields that come, and those that go. */
function wordsOf(edit: Edit, order: number): readonly Word[] {
  const put: string[] = [];
  const gone: string[] = [];
  for (const [host, content] of edit) {
    const { bytes = {}, ...rest } = content ?? {};
    if (content === null) put.push(fieldOf(host, departed), String(order));
    // The number stands first, where the script looks for it.
    else put.push(fieldOf(host, about), JSON.stringify({ order, ...rest }));
    gone.push(fieldOf(host, content === null ? about : departed));
    for (const leaf of leaves) {
      const size = bytes[leaf];
      if (size === undefined) gone.push(fieldOf(host, leaf));
      else put.push(fieldOf(host, leaf), String(size));
    }
  }
  return [...words(edit.map(([host]) => fieldName(host))), ...words(put), ...words(gone)];
}

export async function writeShares(connection: Connection, keys: Keys, edits: Edits): Promise<void> {
  for (let start = 0; start < edits.length; start += toldAtOnce) {
    const some = edits.slice(start, start + toldAtOnce);
    await saidInOrder(connection, keys, some, (client, [ownerKey, edit], order) =>
      putShare(client, keys, ownerKey, edit, order),
    );
    await noteShares(
      connection,
      keys,
      some.map(([ownerKey]) => ownerKey),
    );
  }
}

/** Less than every number that Redis gives, so that whatever was said is later. */
const beforeAll = 0;

/** What is known of others that the store may have lost, where nothing was said since. */
export async function restoreShares(
  connection: Connection,
  keys: Keys,
  shares: readonly ShareRecord[],
): Promise<void> {
  const edits = editsOf({ shares });
  for (let start = 0; start < edits.length; start += toldAtOnce) {
    // One host at a time, so that what one has said keeps no other's out.
    const some = edits
      .slice(start, start + toldAtOnce)
      .flatMap(([ownerKey, edit]) => edit.map(each => [ownerKey, [each]] as const));
    const answers = await mapConcurrent(connection, some, async (client, [ownerKey, edit]) =>
      sound(connection.where, await putShare(client, keys, ownerKey, edit, beforeAll)),
    );
    const kept = some.filter((_, at) => answers[at]?.is === 'kept').map(([ownerKey]) => ownerKey);
    if (kept.length > 0) await noteShares(connection, keys, [...new Set(kept)]);
  }
}

function putShare(
  client: RedisClient,
  keys: Keys,
  ownerKey: string,
  edit: Edit,
  order: number,
): Promise<ScriptReply> {
  return runScript(client, scripts.share, [keys.share(ownerKey)], [String(order), ...wordsOf(edit, order)]);
}

async function noteShares(
  connection: Connection,
  { measured, log, news }: Keys,
  ownerKeys: readonly string[],
): Promise<void> {
  const args = [news, ...words(ownerKeys.map(fieldName))];
  await connection.run(async client =>
    sound(connection.where, await runScript(client, scripts.note, [measured, log], args)),
  );
}

/** Of all hosts. */
export async function sharesOf(
  connection: Connection,
  keys: Keys,
  ownerKeys: readonly string[],
): Promise<readonly ShareRecord[]> {
  const found = await mapConcurrent(connection, ownerKeys, async (client, ownerKey) => {
    const key = keys.share(ownerKey);
    return sharesIn(connection.where, key, ownerKey, await client.hgetall(key));
  });
  return found.flat();
}

function sharesIn(
  where: string,
  key: string,
  ownerKey: string,
  hash: Readonly<Record<string, string>>,
): readonly ShareRecord[] {
  const hosts = new Map<string, { bytes: Record<string, number>; rest?: object }>();
  for (const [field, value] of Object.entries(hash)) {
    understood(where, key, field, () => {
      const [name = '', what = ''] = field.split('/');
      if (what === departed) return;
      const share = hosts.get(name) ?? { bytes: {} };
      hosts.set(name, share);
      if (what !== about) {
        share.bytes[what] = numberIn(value);
        return;
      }
      const read: unknown = JSON.parse(value);
      if (typeof read !== 'object' || read === null || !('order' in read)) throw new TypeError('no share');
      const { order: _, ...rest } = read;
      share.rest = rest;
    });
  }
  return [...hosts].map(([name, { bytes, rest }]) =>
    understood(where, key, name, () => shareOf(ownerKey, unnamed(name), { ...rest, bytes })),
  );
}

/** All of them, some owners at a time; what is changed meanwhile, the log tells. */
export async function* sharePages(connection: Connection, keys: Keys): AsyncGenerator<SharesPage> {
  for await (const { list, isLast } of measuredPages(connection, keys)) {
    const ownerKeys = list.map(({ ownerKey }) => ownerKey);
    const shares = await sharesOf(connection, keys, ownerKeys);
    const whose = new Set(shares.map(({ ownerKey }) => ownerKey));
    const empty = list.filter(({ ownerKey }) => !whose.has(ownerKey));
    if (empty.length > 0) await unnote(connection, keys, empty);
    yield { ownerKeys, shares, isLast };
  }
}

/** Takes those off the list whose last share is gone, unless somebody noted some since. */
async function unnote(connection: Connection, { measured }: Keys, list: readonly Measured[]): Promise<void> {
  const some = words(list.flatMap(({ ownerKey, at }) => [fieldName(ownerKey), at]));
  await connection.run(async client =>
    sound(connection.where, await runScript(client, scripts.unnote, [measured], some)),
  );
}

interface Measured {
  readonly ownerKey: string;
  /** When the shares were last changed, as a number of the log. */
  readonly at: string;
}

/**
 * Every owner of whom there may be shares, in the order in which these were last changed: so whoever comes in
 * between comes later, and no server that takes another's place in between leaves anybody out.
 */
async function* measuredPages(
  connection: Connection,
  { measured }: Keys,
): AsyncGenerator<{ readonly list: readonly Measured[]; readonly isLast: boolean }> {
  let from = '-inf';
  let before = new Set<string>();
  for (let most = 2 * toldAtOnce, isLast = false; !isLast; ) {
    const found = await connection.run(client =>
      client.zrange(measured, from, '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES'),
    );
    isLast = found.length / 2 < most;
    const page = understood(connection.where, measured, 'a name', () =>
      Array.from({ length: found.length / 2 }, (_, place) => ({
        ownerKey: unnamed(found[2 * place] ?? ''),
        at: found[2 * place + 1] ?? '',
      })),
    );
    const list = page.filter(({ ownerKey, at }) => at !== from || !before.has(ownerKey));
    const last = page.at(-1)?.at ?? from;
    // All who were changed together with the last one come again.
    before = new Set(page.filter(({ at }) => at === last).map(({ ownerKey }) => ownerKey));
    most = last === from ? 2 * most : 2 * toldAtOnce;
    from = last;
    yield { list, isLast };
  }
}

/** Takes all shares of one host out; whether there were any. */
export async function dropHost(connection: Connection, keys: Keys, host: string): Promise<boolean> {
  let wereAny = false;
  for await (const { list } of measuredPages(connection, keys)) {
    const there = await mapConcurrent(connection, list, (client, { ownerKey }) =>
      client.hexists(keys.share(ownerKey), fieldOf(host, about)),
    );
    const owners = list.map(({ ownerKey }) => ownerKey).filter((_, at) => there[at] === 1);
    if (owners.length === 0) continue;
    wereAny = true;
    await writeShares(
      connection,
      keys,
      editsOf({ goneShares: owners.map(ownerKey => ({ ownerKey, host })) }),
    );
  }
  return wereAny;
}
