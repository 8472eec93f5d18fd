/**
 * JSON that strangers send, to values: exact in its numbers, bounded in depth and number of values, and a
 * slice at a time, so that no document holds the event loop.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { JsonReader, type ReaderOptions } from './reader.ts';

/** A millisecond's work, or two. */
const valuesAtOnce = 1000;

/** Reads all of a short text at once. Throws `JsonFault`. */
export function readJson(text: string, options: ReaderOptions): unknown {
  const reader = new JsonReader(text, options);
  while (!reader.read(Number.POSITIVE_INFINITY));
  return reader.result;
}

/** Reads a text of any length. Rejects with `JsonFault`. */
export async function readJsonInSlices(text: string, options: ReaderOptions): Promise<unknown> {
  const reader = new JsonReader(text, options);
  while (!reader.read(valuesAtOnce)) await nextTurn();
  return reader.result;
}
