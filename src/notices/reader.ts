/**
 * Reads the record of events, and makes a notice of each event once.
 *
 * Events can come into the record later than they happened: they are written behind, and other hosts may have
 * been away. So all of the last day is read again now and then, and what was told is remembered as long. In
 * between, reading ends at the first page on which nothing is new.
 */

import type { Event, Events } from '../overview/index.ts';
import type { NoticeDocument, ReadPosition } from './kinds.ts';
import { noticeOf, policyNotice } from './wording.ts';

const hourMs = 3_600_000;
/** Refusals of an hour may be written so much after its end. */
const writtenMs = 60_000;
const windowMs = 24 * hourMs;
const mostSeen = 10_000;
const pageEvents = 200;
/** The things that are the policy; others are accounts, or have events of their own. */
const policyThings: ReadonlySet<string> = new Set(['rule', 'group', 'assignment']);

type PolicyEvent = Extract<Event, { readonly kind: 'policy' }>;

/** Begins at this moment: what happened before is no news. */
export function beginningAt(now: number): ReadPosition {
  return { floor: now, seen: [], digestAt: null };
}

/** `isWhole`: reads the whole last day. Rejects as reading the store does. */
export async function readNotices(
  record: Pick<Events, 'list'>,
  before: ReadPosition,
  { now, isWhole }: { readonly now: number; readonly isWhole: boolean },
): Promise<{ readonly notices: readonly NoticeDocument[]; readonly position: ReadPosition }> {
  const floor = Math.max(before.floor, now - windowMs);
  const seen = new Map(before.seen.map(([id, at, count]) => [id, { at, count }]));
  const notices: NoticeDocument[] = [];
  const changes = new Map<string, PolicyEvent[]>();
  for (let after: string | undefined; ; ) {
    const { events, next } = await record.list({ limit: pageEvents, after });
    let isOver = next === null;
    let isNew = false;
    for (const event of events) {
      const at = Date.parse(event.at);
      if (at < floor) {
        isOver = true;
        break;
      }
      const id = event.kind === 'policy' ? event.change : event.id;
      const known = seen.get(id);
      if (event.kind === 'policy') {
        if (known === undefined && policyThings.has(event.what)) {
          changes.set(id, [...(changes.get(id) ?? []), event]);
          isNew = true;
        }
      } else if (event.kind === 'refusal') {
        const isFinal = now >= (Math.floor(at / hourMs) + 1) * hourMs + writtenMs;
        if (known !== undefined && (!isFinal || event.count <= known.count)) continue;
        notices.push(noticeOf(event, { isSum: known !== undefined, isFinal }));
        seen.set(id, { at, count: event.count });
        isNew ||= known === undefined;
      } else if (event.kind !== 'sign-in' && event.kind !== 'reclaim' && known === undefined) {
        notices.push(noticeOf(event, { isSum: false, isFinal: true }));
        seen.set(id, { at, count: 1 });
        isNew = true;
      }
    }
    if (isOver || (!isNew && !isWhole) || next === null) break;
    after = next;
  }
  for (const [id, events] of changes) {
    const [first] = events;
    if (first === undefined) continue;
    notices.push(policyNotice(id, [...events].reverse()));
    seen.set(id, { at: Date.parse(first.at), count: 1 });
  }
  return { notices: notices.reverse(), position: positionOf(before, floor, seen) };
}

/**
 * Position after these events. Events that there is no room for are passed over, and so are later arrivals of
 * that time.
 */
function positionOf(
  { digestAt }: ReadPosition,
  floor: number,
  seen: ReadonlyMap<string, { readonly at: number; readonly count: number }>,
): ReadPosition {
  const rows = [...seen]
    .map(([id, { at, count }]): readonly [string, number, number] => [id, at, count])
    .filter(([, at]) => at >= floor)
    .sort(([, a], [, b]) => a - b);
  const kept = rows.slice(-mostSeen);
  const first = rows.length > mostSeen ? (kept[0]?.[1] ?? floor) : floor;
  return { floor: first, seen: kept.map(([id, at, count]) => [id, at, count]), digestAt };
}
