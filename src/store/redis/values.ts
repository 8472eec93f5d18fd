/**
 * Turns records into values, and values into records. A value that no record can have made is refused with
 * the name of its key, never guessed.
 */

import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import { isLeaf } from '../../quota/index.ts';
import { printable } from '../../text.ts';
import { decodeWtf8, encodeWtf8 } from '../../wtf8.ts';
import type { DocumentRecord, EventRecord, LargeUnit, LevelRecord, OwnerRecord } from '../record-store.ts';
import { ownerShape, whole } from '../shapes.ts';
import { damaged } from './faults.ts';
import { fieldName, textIn } from './keys.ts';

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

export function levelIn(name: string, value: Buffer): LevelRecord {
  return { ownerId: numberIn(name), text: textOf(value) };
}

const eventContent = z.strictObject({ of: z.string(), at: whole, text: z.string() });

/** Makes the labels of an event in `PREFIX:events:times`, by which it is found without reading its text. */
export function eventLabels({ kind, ownerId, ownerKey }: EventRecord): string {
  const owner = ownerId === null ? '' : ` owner-id=${ownerId}`;
  const key = ownerKey === null ? '' : ` owner-key=${fieldName(ownerKey)}`;
  return `kind=${fieldName(kind)}${owner}${key}`;
}

const label =
  /^(?<id>\S+) kind=(?<kind>\S*)(?: owner-id=(?<ownerId>-?\d+))?(?: owner-key=(?<ownerKey>\S*))?$/;

/** Reads an event's id and labels; throws for any other text. */
export function labelIn(text: string): Omit<EventRecord, 'at' | 'text'> {
  const { id, kind, ownerId, ownerKey } = label.exec(text)?.groups ?? {};
  if (id === undefined || kind === undefined) throw new TypeError('no event');
  return {
    id,
    kind: decodeFieldName(kind),
    ownerId: ownerId === undefined ? null : numberIn(ownerId),
    ownerKey: ownerKey === undefined ? null : decodeFieldName(ownerKey),
  };
}

/** Makes the JSON of an event. The labels come first, where scripts expect them. */
export function eventText(event: EventRecord): string {
  return JSON.stringify({ of: eventLabels(event), at: event.at, text: event.text });
}

/** Reads what `eventText` made; throws for any other text. */
export function eventContentIn(value: Buffer): Pick<EventRecord, 'at' | 'text'> {
  const { at, text } = eventContent.parse(JSON.parse(value.toString()));
  return { at, text };
}

const largestUnits = z.array(
  z.strictObject({
    kind: z.enum(['walked', 'reported']),
    name: z.string(),
    leaf: z.string().refine(isLeaf, { error: 'no kind of data' }),
    bytes: whole.nonnegative(),
  }),
);

/** Reads JSON of the largest units; throws for any other text. */
export function largestIn(text: string): readonly LargeUnit[] {
  return largestUnits.parse(JSON.parse(text));
}
