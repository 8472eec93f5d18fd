/**
 * Reads the record of events, and makes one notice of each event: the data for receivers, and a sentence for
 * people.
 *
 * Events can appear in the record late, since they are written behind, and other hosts may have been away. So
 * the whole last day is read again from time to time, and the events with notices are remembered as long.
 * Other reads end at the first page without a new event that goes back to the read before.
 */

import type { Event, EventOf, Events } from '../overview/index.ts';
import { subjectWords } from '../quota/index.ts';
import { counted, formatBytes, formatMoment, formatUse, printable } from '../text.ts';
import type { NoticeDocument, ReadPosition } from './deliveries.ts';

const hourMs = 3_600_000;
/** Refusals of an hour are complete in the record this long after its end. */
const writtenMs = 60_000;
const windowMs = 24 * hourMs;
const mostSeen = 10_000;
const pageEvents = 200;
/** The documents whose changes have a notice; others are accounts, or have their own kind of event. */
const policyThings: ReadonlySet<string> = new Set(['rule', 'group', 'assignment']);

/** Reads events: those since a time, or earlier if many are new. Rejects as reads of the store do. */
export async function readNotices(
  record: Pick<Events, 'list'>,
  before: ReadPosition,
  { now, since }: { readonly now: number; readonly since: number },
): Promise<{ readonly notices: readonly NoticeDocument[]; readonly position: ReadPosition }> {
  const floor = Math.max(before.floor, now - windowMs);
  const seen = new Map(before.seen.map(([id, at, count]) => [id, { at, count }]));
  const notices: NoticeDocument[] = [];
  const changes = new Map<string, EventOf<'policy'>[]>();
  for (let after: string | undefined; ; ) {
    const { events, next } = await record.list({ limit: pageEvents, after });
    let isOver = next === null;
    let isNew = Date.parse(events.at(-1)?.at ?? '') >= since;
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
          const together = changes.get(id) ?? [];
          together.push(event);
          changes.set(id, together);
          isNew = true;
        }
      } else if (event.kind === 'refusal') {
        const isFinal = now >= (Math.floor(at / hourMs) + 1) * hourMs + writtenMs;
        if (known !== undefined && (!isFinal || event.count <= known.count)) continue;
        notices.push(noticeOf(event, { isSum: known !== undefined, isFinal }));
        seen.set(id, { at, count: event.count });
        isNew ||= known === undefined;
      } else if (isTold(event) && known === undefined) {
        notices.push(noticeOf(event, { isSum: false, isFinal: true }));
        seen.set(id, { at, count: 1 });
        isNew = true;
      }
    }
    if (isOver || !isNew || next === null) break;
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

/** Returns the new position. If there are too many events, raises the floor, and drops the oldest ones. */
function positionOf(
  { digestAt }: ReadPosition,
  floor: number,
  seen: ReadonlyMap<string, { readonly at: number; readonly count: number }>,
): ReadPosition {
  const rows = [...seen]
    .map(([id, { at, count }]): [string, number, number] => [id, at, count])
    .filter(([, at]) => at >= floor)
    .sort(([, a], [, b]) => a - b);
  // Dropped events are below the floor, and so are those of the same moment.
  const dropped = rows.at(-mostSeen - 1);
  const from = dropped === undefined ? floor : dropped[1] + 1;
  return { floor: from, seen: rows.filter(([, at]) => at >= from), digestAt };
}

type ToldEvent = EventOf<'threshold' | 'grace' | 'refusal' | 'request' | 'allowance'>;

function isTold(event: Event): event is ToldEvent {
  return ['threshold', 'grace', 'refusal', 'request', 'allowance'].includes(event.kind);
}

interface Told {
  /** True for the second notice of the refusals of an hour, with all of them. */
  readonly isSum: boolean;
  /** True if the hour of the refusals is over. */
  readonly isFinal: boolean;
}

function noticeOf(event: ToldEvent, { isSum, isFinal }: Told): NoticeDocument {
  const { kind, id, ...fields } = event;
  const at = Date.parse(kind === 'refusal' && isFinal ? event.last_at : event.at);
  const common = { id: isSum ? `${id}-sum` : id, type: kind, at, owner: event.owner } as const;
  const message = printable(sentenceOf(event));
  if (kind === 'refusal') {
    return { ...common, message, data: { event: id, ...fields, is_final: isFinal, message } };
  }
  // The changes of documents stay in the record, and are not sent.
  const { changes: _, ...facts } = { changes: null, ...fields };
  return { ...common, message, data: { event: id, ...facts, message } };
}

const mostChanges = 50;

/** Makes the notice of a policy change from its events, oldest first; at least one. */
function policyNotice(change: string, events: readonly EventOf<'policy'>[]): NoticeDocument {
  const [first] = events;
  if (first === undefined) throw new TypeError('a change has an event');
  const { by } = first;
  const changes = events
    .slice(0, mostChanges)
    .map(({ action, what, name, owner, before, after }) => ({ action, what, name, owner, before, after }));
  const author = by === null ? 'softquota' : (by.name ?? "the host's administrator");
  const what = changes
    .slice(0, 3)
    .map(({ action, what: thing, name }) => {
      // The first group of an owner creates this document, and without the last one it is deleted.
      const done = thing === 'assignment' ? 'edited the groups of' : `${action} ${thing}`;
      return `${done} ${name ?? ''}`.trim();
    })
    .join(', ');
  const more = events.length > 3 ? ` and ${counted(events.length - 3, 'other thing', 'other things')}` : '';
  const message = printable(`The policy was changed by ${author}: ${what}${more}.`);
  const data = { change, at: first.at, by, count: events.length, changes, message };
  return { id: change, type: 'policy', at: Date.parse(first.at), owner: null, message, data };
}

function sentenceOf(event: ToldEvent): string {
  switch (event.kind) {
    case 'threshold':
      return thresholdSentence(event);
    case 'grace':
      return graceSentence(event);
    case 'refusal':
      return refusalSentence(event);
    case 'request':
      return requestSentence(event);
    case 'allowance':
      return allowanceSentence(event);
  }
}

function thresholdSentence(event: EventOf<'threshold'>): string {
  const { direction, from, to, grace_until: graceUntil } = event;
  const stands = useSentence(event);
  if (direction === 'up') {
    if (to !== 'limit') return `${to} % of the limit is reached: ${stands}`;
    const begin = graceUntil === undefined ? null : formatMoment(Date.parse(graceUntil));
    return `The limit is reached: ${stands}${begin === null ? '' : ` Refusals begin on ${begin} at the latest.`}`;
  }
  return `Below ${from === 'limit' ? 'the limit' : `${from} % of the limit`} again: ${stands}`;
}

function graceSentence(event: EventOf<'grace'>): string {
  const { ended_by: endedBy, mode } = event;
  const refused = mode === 'report' ? 'would be refused' : 'is refused';
  const why = endedBy === 'time' ? 'The grace has ended' : 'The grace does not reach so far';
  return `${why}: ${useSentence(event)} What adds data ${refused} until usage is below the limit.`;
}

function useSentence({ owner, group, used, limit }: EventOf<'threshold' | 'grace'>): string {
  const use = formatUse(used ?? 0, limit ?? -1);
  const has = owner === null ? `the group ${group} has` : `${owner} uses`;
  return limit === null || limit === -1
    ? `${has} ${use.used}, without a limit.`
    : `${has} ${use.used} of ${use.limit} (${use.percent}).`;
}

function refusalSentence(event: EventOf<'refusal'>): string {
  const { owner, actor, subject, count, mode, others, used, limit, full_disk: isFull } = event;
  const who = owner ?? 'several owners';
  const by = actor === null ? '' : ` by ${actor}`;
  const verb = mode === 'report' ? 'would have been refused' : count === 1 ? 'was refused' : 'were refused';
  const what = `${counted(count, 'action', 'actions')}${by} for ${subjectWords(subject)} of ${who} ${verb}`;
  if (isFull) return `${what}, because the disk is nearly full.`;
  if (others || used === null || limit === null) return `${what}.`;
  const use = formatUse(used, limit);
  return `${what}: ${use.used} of ${use.limit} are used (${use.percent}).`;
}

function requestSentence({ owner, action, bytes, until, words, by }: EventOf<'request'>): string {
  const end = until === null ? '' : ` until ${formatMoment(Date.parse(until))}`;
  const more = `${formatBytes(bytes)} more for ${owner}${end}`;
  const why = words === '' ? '' : `: ${words}`;
  switch (action) {
    case 'asked':
      return `${by?.name ?? 'Somebody'} asks for ${more}${why}`;
    case 'granted':
      return `Granted: ${more}${why}`;
    case 'declined':
      return `Declined: ${more}${why}`;
    case 'withdrawn':
      return `Withdrawn: the request for ${more}`;
  }
}

function allowanceSentence({ owner, action, bytes, until, by }: EventOf<'allowance'>): string {
  const size = formatBytes(bytes);
  if (action === 'granted') return `${owner} has ${size} more until ${formatMoment(Date.parse(until))}.`;
  return by === null
    ? `The ${size} that ${owner} had for a time have ended.`
    : `The ${size} that ${owner} had for a time were taken back.`;
}
