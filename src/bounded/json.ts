/**
 * JSON that strangers send, to values: exact in its numbers, bounded in depth and number of values, and a
 * slice at a time, so that no document holds the event loop.
 */

import { type Work, workInSlices } from '../slices.ts';
import { JsonReader, type ReaderOptions } from './reader.ts';

/** So many are read in one step. */
const valuesAtOnce = 50;

/** Reads all of a short text at once. Throws `JsonFault`. */
export function readJson(text: string, options: ReaderOptions): unknown {
  const reader = new JsonReader(text, options);
  while (!reader.read(Number.POSITIVE_INFINITY));
  return reader.result;
}

/** Reads a text of any length. Rejects with `JsonFault`. */
export function readJsonInSlices(text: string, options: ReaderOptions): Promise<unknown> {
  return workInSlices(reading(new JsonReader(text, options)));
}

function* reading(reader: JsonReader): Work<unknown> {
  while (!reader.read(valuesAtOnce)) yield;
  return reader.result;
}
