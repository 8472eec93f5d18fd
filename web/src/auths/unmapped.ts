/** Claimed groups that a source's mapping does not name, as the latest sign-ins told them. */

import type { Event } from '../../../src/overview/event-shapes.ts';
import type { Source } from '../../../src/wire/index.ts';

/** The latest sign-in that claimed the group. */
export interface Unmapped {
  readonly group: string;
  readonly user: string;
  readonly at: string;
}

/** By name, each once. `events` are the newest first; what was mapped since is left out. */
export function unmappedOf(
  { id, quota_group_map: mapping }: Pick<Source, 'id' | 'quota_group_map'>,
  events: readonly Event[],
): readonly Unmapped[] {
  const found = new Map<string, Unmapped>();
  for (const event of events) {
    if (event.kind !== 'sign-in' || event.source.id !== id) continue;
    for (const group of event.unmapped ?? []) {
      if (found.has(group) || Object.hasOwn(mapping, group)) continue;
      found.set(group, { group, user: event.owner, at: event.at });
    }
  }
  return [...found.values()].sort((a, b) => (a.group < b.group ? -1 : 1));
}
