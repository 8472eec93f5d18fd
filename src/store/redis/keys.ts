/**
 * The names of all that softquota keeps in Redis.
 *
 *     {PREFIX}:policy        hash    schema, generation, version, mark, supersedes
 *     {PREFIX}:documents     hash    KIND/KEY -> text
 *     {PREFIX}:volatile      hash    KIND/KEY -> text, for documents without a version; "." -> 1 once there
 *                                    were any
 *     {PREFIX}:owners        hash    OWNER -> JSON
 *     {PREFIX}:events        hash    ID -> when, what and whom, then the text in the next line
 *     {PREFIX}:event-places  zset    "LABEL TIME ID", in their order
 *     {PREFIX}:levels        hash    an owner's id -> text
 *     {PREFIX}:measured      zset    OWNER -> the number of the last change of its shares
 *     {PREFIX}:log           stream  the changes, by number
 *     {PREFIX}:order         hash    what is said by numbers: see order.ts; `names`, the server on
 *                                    which they are kept, and since when
 *     {PREFIX}:hosts         hash    HOST -> JSON
 *     {PREFIX}:walkers       hash    NAME, of a file system that several hosts mount -> HOST
 *     {PREFIX}:alive:HOST    string  "token life number", with an expiry
 *     {PREFIX}:task:NAME     string  HOST, which has it, with an expiry
 *     {PREFIX}:staged:*      hash    a policy on its way, with an expiry
 *     {PREFIX}:news          channel the number of each change
 *     {PREFIX}:said          channel what hosts say to one another, which nobody keeps
 *     PREFIX:share:{OWNER}   hash    HOST/LEAF -> bytes; HOST/about -> JSON; HOST/gone -> when, for an hour
 *
 * Anything in capitals is percent-encoded but for ASCII letters, digits and `.`, `_`, `~`, `-`; so it has
 * neither spaces nor braces.
 *
 * Redis's access lists may keep who measures only from writing the policy: that role reads `{PREFIX}:policy`,
 * `{PREFIX}:documents` and `{PREFIX}:volatile`, and reads and writes all else but `{PREFIX}:staged:*`.
 * Scripts do not name a key that the role only reads, for naming it in EVAL counts as writing it.
 *
 * Commands of all: INFO, MULTI, EXEC, TYPE, EXISTS, TIME, EVAL, EVALSHA, HGET, HMGET, HGETALL, HKEYS, HSCAN,
 * HLEN, HEXISTS, HSET, HDEL, ZADD, ZREM, ZRANGE, ZRANGEBYLEX, ZREVRANGEBYLEX, ZSCORE, XADD, XRANGE,
 * XREVRANGE, GET, SET, DEL, PEXPIRE, PERSIST, PUBLISH, SUBSCRIBE. Changes of policy also need UNLINK, RENAME
 * and, with WAIT_REPLICAS, WAIT. CONFIG GET and CLIENT SETNAME are of use, and not needed. The channel is
 * `{PREFIX}:news`; without a right to it, changes are noticed by asking only. Without one to `{PREFIX}:said`,
 * what is pushed to a file system that another host walks is measured at that one's next sweep.
 */

import { decodeWtf8, encodeWtf8 } from '../../wtf8.ts';

export type Keys = Readonly<ReturnType<typeof redisKeys>>;

export function redisKeys(prefix: string) {
  const common = `{${prefix}}`;
  return {
    policy: `${common}:policy`,
    documents: `${common}:documents`,
    volatile: `${common}:volatile`,
    owners: `${common}:owners`,
    events: `${common}:events`,
    places: `${common}:event-places`,
    levels: `${common}:levels`,
    measured: `${common}:measured`,
    log: `${common}:log`,
    order: `${common}:order`,
    hosts: `${common}:hosts`,
    walkers: `${common}:walkers`,
    // Channels.
    news: `${common}:news`,
    said: `${common}:said`,
    alive: (host: string) => `${common}:alive:${fieldName(host)}`,
    task: (name: string) => `${common}:task:${fieldName(name)}`,
    /** `spare` is never there. */
    staged: (id: string, what: 'documents' | 'owners' | 'spare') => `${common}:staged:${id}:${what}`,
    share: (ownerKey: string) => `${prefix}:share:{${fieldName(ownerKey)}}`,
  };
}

/** Characters that stand for themselves in a name. */
const plain = /^[A-Za-z0-9._~-]*$/;

const spelled = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Any text as part of a name. */
export function fieldName(text: string): string {
  if (plain.test(text)) return text;
  let name = '';
  for (const byte of encodeWtf8(text)) name += spelled[byte];
  return name;
}

/** Null where `fieldName` gives no such name of any text. */
export function textIn(name: string): string | null {
  if (plain.test(name)) return name;
  const bytes = name.replace(/%([0-9A-F]{2})/g, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  const text = decodeWtf8(Buffer.from(bytes, 'latin1'));
  return text !== null && fieldName(text) === name ? text : null;
}
