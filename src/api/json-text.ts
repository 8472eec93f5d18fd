/** Values as JSON, a slice at a time: the same text as that of JSON.stringify, which takes one step. */

import type { Work } from '../slices.ts';

/** A list of more entries is long. */
const mostAtOnce = 32;
/** The text comes in pieces of about so many characters. */
const pieceCharacters = 64 * 1024;

/** Tells whether there are long lists in a value. */
export function isLong(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) && value.length > mostAtOnce) return true;
  return Object.values(value).some(isLong);
}

/** Takes the JSON text of plain values, piece by piece. */
export function* writeJson(value: unknown, take: (piece: string) => void): Work<void> {
  let piece = '';
  const add = (text: string) => {
    piece += text;
    if (piece.length < pieceCharacters) return;
    take(piece);
    piece = '';
  };
  yield* addTo(add, value);
  if (piece !== '') take(piece);
}

function* addTo(add: (text: string) => void, value: unknown): Work<void> {
  if (!isLong(value)) add(JSON.stringify(value) ?? 'null');
  else if (Array.isArray(value)) yield* addList(add, value);
  else yield* addObject(add, Object.entries(value as object));
}

function* addList(add: (text: string) => void, list: readonly unknown[]): Work<void> {
  add('[');
  for (const [index, entry] of list.entries()) {
    if (index > 0) add(',');
    yield* addTo(add, entry);
    yield;
  }
  add(']');
}

function* addObject(
  add: (text: string) => void,
  fields: readonly (readonly [string, unknown])[],
): Work<void> {
  let before = '{';
  for (const [name, field] of fields) {
    if (field === undefined) continue;
    add(`${before}${JSON.stringify(name)}:`);
    before = ',';
    yield* addTo(add, field);
  }
  add('}');
}
