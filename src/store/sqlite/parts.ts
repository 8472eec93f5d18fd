/** A large write in parts, for its way to the thread. */

import { type Changes, recordKinds } from '../store.ts';
import type { WritePart } from './messages.ts';

/** Records in one message: a few milliseconds' work. */
const mostInPart = 2000;

/** Makes the messages that a write is sent to the thread by. */
export function* writeInParts(id: number, changes: Changes): Generator<WritePart> {
  let waiting: Changes | null = null;
  for (const part of partsOf(changes, mostInPart)) {
    if (waiting !== null) yield { id, is: 'write', changes: waiting, isLast: false };
    waiting = part;
  }
  yield { id, is: 'write', changes: waiting ?? {}, isLast: true };
}

/** Cuts a write into parts of at most `most` records that do the same, applied one after the other. */
function* partsOf(changes: Changes, most: number): Generator<Changes> {
  const lists = recordKinds.flatMap(({ fields }) => fields.map(field => [field, changes[field]] as const));
  // Single values come first: events that come are not among those that go before a time.
  let part: Changes = Object.fromEntries(lists.filter(([, given]) => given !== undefined && !isList(given)));
  let room = most;
  for (const [field, given = []] of lists) {
    if (!isList(given)) continue;
    for (let from = 0; from < given.length; ) {
      if (room === 0) {
        yield part;
        part = {};
        room = most;
      }
      const some = given.slice(from, from + room);
      part = { ...part, [field]: some };
      from += some.length;
      room -= some.length;
    }
  }
  yield part;
}

function isList(given: unknown): given is readonly unknown[] {
  return Array.isArray(given);
}
