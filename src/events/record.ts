/** Events as they are kept, and as they are told. */

import type { EventRecord } from '../store/index.ts';
import { type Event, event } from '../wire/index.ts';

/** Null where it is none. */
export function eventOf({ id, kind, at, text }: EventRecord): Event | null {
  return event.safeParse({ id, kind, at: isoOf(at), ...fieldsIn(text) }).data ?? null;
}

/** None where it is no JSON object. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const fields: unknown = JSON.parse(text);
    return typeof fields === 'object' && !Array.isArray(fields) ? { ...fields } : {};
  } catch {
    return {};
  }
}

export function isoOf(time: number): string {
  return new Date(time).toISOString();
}
