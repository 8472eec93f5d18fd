/**
 * The names of all keys of softquota in Redis.
 *
 *     PREFIX:policy              hash    schema, generation, version, mark, supersedes, at, host
 *     PREFIX:documents           hash    KIND/KEY -> text
 *     PREFIX:owners              hash    OWNER -> JSON
 *     PREFIX:changes             zset    "VERSION MARK NAME NAME ...", by version, the last 10,000; "*" in place
 *                                        of names: too many
 *     PREFIX:usage               hash    HOST -> "EPOCH NUMBER" of its last report, or "forgotten"
 *     PREFIX:usage:HOST          hash    OWNER -> "git:lfs=45 units=1 measured=TIME", and "name=NAME" of
 *                                        one who is not on record
 *     PREFIX:usage:HOST:changes  zset    OWNER -> the number of the last change
 *     PREFIX:usage:HOST:largest  hash    OWNER -> JSON of the 20 largest units
 *     PREFIX:volatile            hash    KIND/KEY -> text, for documents without a version; "." -> "EPOCH NUMBER"
 *     PREFIX:volatile:changes    zset    KIND/KEY -> the number of the last change, the last 20,000
 *     PREFIX:events              hash    ID -> JSON
 *     PREFIX:events:times        zset    "ID kind=KIND owner-id=N owner-key=OWNER", by time
 *     PREFIX:levels              hash    an owner's id -> text
 *     PREFIX:hosts               hash    HOST -> JSON
 *     PREFIX:alive:HOST          string  "TOKEN LIFE", with an expiry
 *     PREFIX:fences              hash    HOST -> the number of its connection, so that late writes of an
 *                                        earlier one are refused
 *     PREFIX:task:NAME           string  HOST, which has it, with an expiry
 *     PREFIX:staged:*            hash    parts of a new policy, with an expiry
 *     PREFIX:news                channel a note that something has changed, or a message of a host, as JSON
 *
 * Anything in capitals is percent-encoded but for ASCII letters, digits and `.`, `_`, `~`, `-`; so it has
 * neither spaces nor colons.
 *
 * Redis's access lists can keep hosts that only measure from writing the policy: their role reads `policy`,
 * `documents`, `owners`, `changes`, `volatile` and `volatile:changes`, and reads and writes all other keys
 * but `staged:*`. Scripts do not name a key that this role only reads, since naming it in EVAL counts as
 * writing it. Without a right to the channel `news`, hosts notice changes only by polling, and pushes to
 * storage that another host walks are measured at that host's next sweep.
 */

import { messageOf } from '../../errors.ts';
import { printable } from '../../text.ts';
import { decodeWtf8, encodeWtf8 } from '../../wtf8.ts';
import type { DocumentRecord, OwnerRecord } from '../record-store.ts';
import { ownerShape } from '../shared.ts';
import { damaged } from './faults.ts';

export type Keys = Readonly<ReturnType<typeof redisKeys>>;

export function redisKeys(prefix: string) {
  return {
    policy: `${prefix}:policy`,
    documents: `${prefix}:documents`,
    owners: `${prefix}:owners`,
    changes: `${prefix}:changes`,
    usage: `${prefix}:usage`,
    usageOf: (host: string) => `${prefix}:usage:${fieldName(host)}`,
    usageChanges: (host: string) => `${prefix}:usage:${fieldName(host)}:changes`,
    largest: (host: string) => `${prefix}:usage:${fieldName(host)}:largest`,
    volatile: `${prefix}:volatile`,
    volatileChanges: `${prefix}:volatile:changes`,
    events: `${prefix}:events`,
    times: `${prefix}:events:times`,
    levels: `${prefix}:levels`,
    hosts: `${prefix}:hosts`,
    alive: (host: string) => `${prefix}:alive:${fieldName(host)}`,
    fences: `${prefix}:fences`,
    task: (name: string) => `${prefix}:task:${fieldName(name)}`,
    /** The key `spare` never exists. */
    staged: (id: string, what: 'documents' | 'owners' | 'spare') => `${prefix}:staged:${id}:${what}`,
    /** A channel. */
    news: `${prefix}:news`,
  };
}

/** Characters that need no encoding in a name. */
const plain = /^[A-Za-z0-9._~-]*$/;

const spelled = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Encodes any text as part of a name. */
export function fieldName(text: string): string {
  if (plain.test(text)) return text;
  let name = '';
  for (const byte of encodeWtf8(text)) name += spelled[byte];
  return name;
}

/** Decodes a name; null if `fieldName` does not make such a name. */
export function textIn(name: string): string | null {
  if (plain.test(name)) return name;
  const bytes = name.replace(/%([0-9A-F]{2})/g, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  const text = decodeWtf8(Buffer.from(bytes, 'latin1'));
  return text !== null && fieldName(text) === name ? text : null;
}

const ownerContent = ownerShape.omit({ key: true });

/** Text as it is sent; as bytes if it has lone surrogates. */
export function sentAs(text: string): string | Buffer {
  return text.isWellFormed() ? text : Buffer.from(encodeWtf8(text));
}

/** Reads the value of a key; anything that `read` throws means that the value is damaged. */
export function parseStored<T>(where: string, key: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw damaged(where, key, `${printable(what)}: ${messageOf(error)}`, error);
  }
}

export function textOf(value: Buffer): string {
  const text = decodeWtf8(value);
  if (text === null) throw new TypeError('no text');
  return text;
}

export function decodeFieldName(name: string): string {
  const text = textIn(name);
  if (text === null) throw new TypeError('no name');
  return text;
}

/** A whole number as `String` writes it. */
export function numberIn(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || String(number) !== text) throw new TypeError('no whole number');
  return number;
}

/** Makes a field of `PREFIX:owners`. The id comes first, where scripts expect it. */
export function ownerFields({ key, id, name, type, since }: OwnerRecord): [string, string] {
  return [fieldName(key), JSON.stringify({ id, name, type, since })];
}

export function ownerIn(name: string, value: string): OwnerRecord {
  return { key: decodeFieldName(name), ...ownerContent.parse(JSON.parse(value)) };
}

export function documentName({ kind, key }: Pick<DocumentRecord, 'kind' | 'key'>): string {
  return `${fieldName(kind)}/${fieldName(key)}`;
}

export function documentFields(document: DocumentRecord): [string, string | Buffer] {
  return [documentName(document), sentAs(document.text)];
}

export function namesIn(name: string): Pick<DocumentRecord, 'kind' | 'key'> {
  const [kind = '', key, ...others] = name.split('/');
  if (key === undefined || others.length > 0) throw new TypeError('no name of a document');
  return { kind: decodeFieldName(kind), key: decodeFieldName(key) };
}

export function documentIn(name: string, value: Buffer): DocumentRecord {
  return { ...namesIn(name), text: textOf(value) };
}
