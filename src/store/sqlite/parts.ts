/** A large write in parts, for its way to the thread. */

import type { Changes } from '../store.ts';
import type { WritePart } from './messages.ts';

/** Names the lists of records in the order in which a write applies them: what goes, then what comes. */
const lists = [
  'goneUnits',
  'goneDeltas',
  'goneOwners',
  'goneDocuments',
  'goneShares',
  'goneRoots',
  'goneLevels',
  'units',
  'deltas',
  'owners',
  'documents',
  'shares',
  'roots',
  'events',
  'levels',
] as const satisfies readonly (keyof Changes)[];

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
  const { replicated, sweep, goneEventsBefore } = changes;
  let part: Changes = {
    ...(replicated === undefined ? {} : { replicated }),
    ...(sweep === undefined ? {} : { sweep }),
    ...(goneEventsBefore === undefined ? {} : { goneEventsBefore }),
  };
  let room = most;
  for (const list of lists) {
    const records = changes[list] ?? [];
    for (let from = 0; from < records.length; ) {
      if (room === 0) {
        yield part;
        part = {};
        room = most;
      }
      const some = records.slice(from, from + room);
      part = { ...part, [list]: some };
      from += some.length;
      room -= some.length;
    }
  }
  yield part;
}
