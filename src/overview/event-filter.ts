/** Events by time, author and words. */

import type { EventRecord } from '../store/index.ts';
import type { Event } from './event-shapes.ts';
import { hourMs } from './points.ts';
import { isoOf } from './record.ts';

export interface EventFilter {
  /** In milliseconds since 1970, both included: an event of an hour is in all of that hour. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** The name of a user: who acted. */
  readonly actor?: string | undefined;
  /** A part of some name, path or text of the event. */
  readonly q?: string | undefined;
}

/** Makes what tells whether an event is meant; null: all are. */
export function eventMatcher(
  { since, actor, q }: EventFilter,
  keyOf: (name: string) => string,
): ((record: EventRecord, read: () => Event) => boolean) | null {
  if (since === undefined && actor === undefined && q === undefined) return null;
  const from = since === undefined ? null : isoOf(since);
  const actorKey = actor === undefined ? null : keyOf(actor);
  const words = q === undefined ? null : folded(q);
  // Most records are passed over by their text, and not read.
  const inText = words === null ? null : JSON.stringify(words).slice(1, -1);
  return (record, read) => {
    if (inText !== null && !folded(record.text).includes(inText)) return false;
    const event = read();
    if (from !== null && (event.kind === 'refusal' ? event.last_at : event.at) < from) return false;
    if (actorKey !== null && !isBy(event, name => keyOf(name) === actorKey)) return false;
    return words === null || hasWords(event, words);
  };
}

/** Nothing from before is meant: the refusals of an hour are told at its first one. */
export function earliest({ since }: EventFilter): number {
  return since === undefined ? Number.NEGATIVE_INFINITY : since - hourMs;
}

function isBy(event: Event, isActor: (name: string) => boolean): boolean {
  const name = event.kind === 'refusal' ? event.actor : 'by' in event ? event.by?.name : null;
  return name !== null && name !== undefined && isActor(name);
}

const unspoken: ReadonlySet<string> = new Set(['id', 'at', 'last_at', 'kind', 'change', 'token_id']);

/** Names of fields are no words of it. */
function hasWords(value: unknown, words: string): boolean {
  if (typeof value === 'string') return folded(value).includes(words);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(each => hasWords(each, words));
  return Object.entries(value).some(([name, field]) => !unspoken.has(name) && hasWords(field, words));
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
