/**
 * Usage of owners, as hosts report it.
 *
 * A change goes to the owners' hashes first and into the log then, so that who reads after the log told of it
 * finds it. Who is listed as measured has been told of in the same way: so a share whose writing broke off
 * may be read late, and is written again by the host that had no answer.
 */

import type { Redis } from 'ioredis';
import { type Leaf, leaves } from '../../quota/index.ts';
import type { RecordChanges, ShareRecord } from '../record-store.ts';
import { contentOfShare, type ShareContent, shareOf } from '../share.ts';
import type { SharesPage } from '../shared.ts';
import {
  mapConcurrent,
  pairs,
  parts,
  runScript,
  type ScriptReply,
  sendScript,
  type Word,
  words,
} from './commands.ts';
import type { RedisContext } from './context.ts';
import { fieldName, type Keys } from './keys.ts';
import { sendNumbered } from './order.ts';
import * as scripts from './share-scripts.ts';
import { decodeFieldName, numberIn, parseStored } from './values.ts';

/** Owners told of in one entry of the log. */
const toldAtOnce = 250;

const about = 'about';
/** Stands before the leaf in the fields of bytes that no ref reaches. */
const unreachableMark = 'unreachable:';
/** In its place where the host has said that the owner stores nothing there. */
const departed = 'gone';

type Edits = readonly (readonly [ownerKey: string, edit: Edit])[];

/** The shares of one owner by host; null: a host has nothing there. */
type Edit = readonly (readonly [host: string, content: ShareContent | null])[];

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

function fieldOf(
  host: string,
  what: Leaf | `${typeof unreachableMark}${Leaf}` | typeof about | typeof departed,
): string {
  return `${fieldName(host)}/${what}`;
}

/** Words for the script: the hosts, then the fields that come, and those that go. */
function wordsOf(edit: Edit, order: number): readonly Word[] {
  const put: string[] = [];
  const gone: string[] = [];
  for (const [host, content] of edit) {
    const { bytes = {}, unreachable = {}, ...rest } = content ?? {};
    if (content === null) put.push(fieldOf(host, departed), String(order));
    // The number stands first, where the script looks for it.
    else put.push(fieldOf(host, about), JSON.stringify({ order, ...rest }));
    gone.push(fieldOf(host, content === null ? about : departed));
    for (const leaf of leaves) {
      const size = bytes[leaf];
      if (size === undefined) gone.push(fieldOf(host, leaf));
      else put.push(fieldOf(host, leaf), String(size));
      const field = fieldOf(host, `${unreachableMark}${leaf}`);
      if (unreachable[leaf] === undefined) gone.push(field);
      else put.push(field, String(unreachable[leaf]));
    }
  }
  return [...words(edit.map(([host]) => fieldName(host))), ...words(put), ...words(gone)];
}

export async function writeShares(context: RedisContext, edits: Edits): Promise<void> {
  for (const some of parts(edits, toldAtOnce)) {
    await sendNumbered(context, some, (client, [ownerKey, edit], order) =>
      putShare(client, context.keys, ownerKey, edit, order),
    );
    await noteShares(
      context,
      some.map(([ownerKey]) => ownerKey),
    );
  }
}

function putShare(
  client: Redis,
  keys: Keys,
  ownerKey: string,
  edit: Edit,
  order: number,
): Promise<ScriptReply> {
  return sendScript(client, scripts.share, [keys.share(ownerKey)], [String(order), ...wordsOf(edit, order)]);
}

async function noteShares(context: RedisContext, ownerKeys: readonly string[]): Promise<void> {
  const { measured, log, news } = context.keys;
  await runScript(context, scripts.note, [measured, log], [news, ...words(ownerKeys.map(fieldName))]);
}

/** The shares of all hosts. */
export async function sharesOf(
  context: RedisContext,
  ownerKeys: readonly string[],
): Promise<readonly ShareRecord[]> {
  const { connection, keys } = context;
  const found = await mapConcurrent(context, ownerKeys, async (client, ownerKey) => {
    const key = keys.share(ownerKey);
    return sharesIn(connection.where, key, ownerKey, await client.hgetall(key));
  });
  return found.flat();
}

/** The fields of one host. */
interface Share {
  readonly bytes: Record<string, number>;
  unreachable?: Readonly<Record<string, number>>;
  rest?: object;
}

function sharesIn(
  where: string,
  key: string,
  ownerKey: string,
  hash: Readonly<Record<string, string>>,
): readonly ShareRecord[] {
  const hosts = new Map<string, Share>();
  for (const [field, value] of Object.entries(hash)) {
    parseStored(where, key, field, () => {
      const [name = '', what = ''] = field.split('/');
      if (what === departed) return;
      const share: Share = hosts.get(name) ?? { bytes: {} };
      hosts.set(name, share);
      if (what.startsWith(unreachableMark)) {
        share.unreachable = { ...share.unreachable, [what.slice(unreachableMark.length)]: numberIn(value) };
        return;
      }
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
  return [...hosts].map(([name, { rest, ...sizes }]) =>
    parseStored(where, key, name, () => shareOf(ownerKey, decodeFieldName(name), { ...rest, ...sizes })),
  );
}

/** All of them, some owners at a time; what is changed meanwhile, the log tells. */
export async function* sharePages(context: RedisContext): AsyncGenerator<SharesPage> {
  for await (const { list, isLast } of measuredPages(context)) {
    const ownerKeys = list.map(({ ownerKey }) => ownerKey);
    const shares = await sharesOf(context, ownerKeys);
    const whose = new Set(shares.map(({ ownerKey }) => ownerKey));
    const empty = list.filter(({ ownerKey }) => !whose.has(ownerKey));
    if (empty.length > 0) await unnote(context, empty);
    yield { ownerKeys, shares, isLast };
  }
}

/** Takes those off the list whose last share is gone, unless somebody noted some since. */
async function unnote(context: RedisContext, list: readonly Measured[]): Promise<void> {
  const args = words(list.flatMap(({ ownerKey, at }) => [fieldName(ownerKey), at]));
  await runScript(context, scripts.unnote, [context.keys.measured], args);
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
async function* measuredPages({
  connection,
  keys: { measured },
}: RedisContext): AsyncGenerator<{ readonly list: readonly Measured[]; readonly isLast: boolean }> {
  let from = '-inf';
  let before = new Set<string>();
  for (let most = 2 * toldAtOnce, isLast = false; !isLast; ) {
    const found = await connection.run(client =>
      client.zrange(measured, from, '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES'),
    );
    isLast = found.length / 2 < most;
    const page = parseStored(connection.where, measured, 'a name', () =>
      pairs(found).map(([name, at]) => ({ ownerKey: decodeFieldName(name), at })),
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
export async function dropHost(context: RedisContext, host: string): Promise<boolean> {
  let wereAny = false;
  for await (const { list } of measuredPages(context)) {
    const there = await mapConcurrent(context, list, (client, { ownerKey }) =>
      client.hexists(context.keys.share(ownerKey), fieldOf(host, about)),
    );
    const owners = list.map(({ ownerKey }) => ownerKey).filter((_, at) => there[at] === 1);
    if (owners.length === 0) continue;
    wereAny = true;
    await writeShares(context, editsOf({ goneShares: owners.map(ownerKey => ({ ownerKey, host })) }));
  }
  return wereAny;
}
