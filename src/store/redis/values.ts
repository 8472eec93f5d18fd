/**
 * Records as values, and values as records.
 *
 * Values are checked before anything is sent (`invalid`); an answer is not trusted, and what no
 * record can have made is refused with the name of its key, never guessed.
 */

import { z } from 'zod';
import { messageOf, SoftquotaError } from '../../errors.ts';
import { issueLines, printable } from '../../text/index.ts';
import { decodeWtf8, encodeWtf8 } from '../../wtf8.ts';
import type {
  DocumentRecord,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  RecordChanges,
} from '../record-store.ts';
import { documentShape, eventShape, levelShape, ownerShape, whole } from '../shapes.ts';
import { damaged } from './faults.ts';
import { fieldName, textIn } from './keys.ts';

const ownerContent = ownerShape.omit({ key: true });
const event = eventShape.extend({ id: z.string().refine(isAscii, { error: 'not in ASCII' }) });

/** A whole document may stand for its names. */
const documentNames = z.object(documentShape.omit({ text: true }).shape);

const changes = z.object({
  owners: z.array(ownerShape).readonly().optional(),
  goneOwners: z.array(z.string()).readonly().optional(),
  documents: z.array(documentShape).readonly().optional(),
  goneDocuments: z.array(documentNames).readonly().optional(),
  events: z.array(event).readonly().optional(),
  goneEventsBefore: whole.optional(),
  levels: z.array(levelShape).readonly().optional(),
  goneLevels: z.array(whole).readonly().optional(),
});

const told = z.object({
  owners: z.array(ownerShape),
  goneOwners: z.array(z.string()),
  documents: z.array(documentShape),
  goneDocuments: z.array(documentNames),
});

/** A change of policy as the log tells it. */
export function toldIn(text: string): z.infer<typeof told> {
  return told.parse(JSON.parse(text));
}

/** Throws `invalid` where a record other than a share is none. */
export function mustBeRecords(asked: RecordChanges): void {
  const { error } = changes.safeParse(asked);
  if (error !== undefined) {
    const why = issueLines(error).join('; ');
    throw new SoftquotaError(
      'invalid',
      `the shared store took nothing of a write with a faulty record: ${why}`,
    );
  }
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** Any text as it is, as far as that can be sent. */
export function sentAs(text: string): string | Buffer {
  return text.isWellFormed() ? text : Buffer.from(encodeWtf8(text));
}

/** Reads what lies under a key; whatever `read` throws is damage there. */
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

/** The id stands first, where scripts look for it. */
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

export function levelIn(name: string, value: Buffer): LevelRecord {
  return { ownerId: numberIn(name), text: textOf(value) };
}

/** A time as text that sorts as times do. */
export function timeOf(at: number): string {
  return at < 0
    ? `n${String(at + Number.MAX_SAFE_INTEGER).padStart(16, '0')}`
    : `p${String(at).padStart(16, '0')}`;
}

function timeIn(text: string): number {
  const [, sign, digits = ''] = /^([np])(\d{16})$/.exec(text) ?? [];
  const number = Number(digits) - (sign === 'n' ? Number.MAX_SAFE_INTEGER : 0);
  if (sign === undefined || timeOf(number) !== text) throw new TypeError('no time');
  return number;
}

export const labels = {
  kind: (kind: string) => `kind=${fieldName(kind)}`,
  ownerId: (id: number) => `owner-id=${id}`,
  ownerKey: (key: string) => `owner-key=${fieldName(key)}`,
};

export function eventFields({
  id,
  kind,
  at,
  ownerId,
  ownerKey,
  text,
}: EventRecord): [string, string | Buffer] {
  const words = [timeOf(at), labels.kind(kind)];
  if (ownerId !== null) words.push(labels.ownerId(ownerId));
  if (ownerKey !== null) words.push(labels.ownerKey(ownerKey));
  return [id, sentAs(`${words.join(' ')}\n${text}`)];
}

const head =
  /^(?<time>\S+) kind=(?<kind>\S*)(?: owner-id=(?<ownerId>-?\d+))?(?<named> owner-key=(?<ownerKey>\S*))?$/;

export function eventIn(id: string, value: Buffer): EventRecord {
  const whole = textOf(value);
  const end = whole.indexOf('\n');
  const { time, kind, ownerId, named, ownerKey } = head.exec(whole.slice(0, end))?.groups ?? {};
  if (end === -1 || time === undefined || kind === undefined) throw new TypeError('no event');
  return {
    id,
    kind: decodeFieldName(kind),
    at: timeIn(time),
    ownerId: ownerId === undefined ? null : numberIn(ownerId),
    ownerKey: named === undefined ? null : decodeFieldName(ownerKey ?? ''),
    text: whole.slice(end + 1),
  };
}
