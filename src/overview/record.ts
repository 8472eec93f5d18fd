/** Events as they are kept, and as they are told. */

import { z } from 'zod';
import type { EventRecord } from '../store/index.ts';
import { type Event, event } from './event-shapes.ts';

/** Null where it is none. */
export function eventOf({ id, kind, at, text }: EventRecord): Event | null {
  const kept = keptFields.safeParse(fieldsIn(text));
  if (!kept.success) return null;
  const { lastAt, by, ...fields } = kept.data;
  const author = by && { owner_id: by.ownerId, name: by.name, token_id: by.tokenId };
  return event.safeParse({ id, kind, at: isoOf(at), ...fields, last_at: lastAt, by: author }).data ?? null;
}

/** Fields that have another name in the store than in the API; `event` looks at their values. */
const keptFields = z.looseObject({
  lastAt: z.unknown().optional(),
  by: z.object({ ownerId: z.unknown(), name: z.unknown(), tokenId: z.unknown() }).nullish(),
});

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
