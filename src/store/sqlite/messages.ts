/** Messages between a store and its thread. */

import { type ErrorCode, SoftquotaError } from '../../errors.ts';
import type { EventQuery, EventRecord, LevelRecord } from '../record-store.ts';
import type { Changes, StoredRecords, UnitRecord, VersionRecord } from '../store.ts';
import type { HistoryAnswers, HistoryQuestion } from './history.ts';
import type { RefusedFile } from './set-files.ts';
import type { SetAnswers, SetQuestion } from './unit-sets.ts';

/** The settings that a thread is started with; it answers with `opening` as the id. */
export interface ThreadSettings {
  readonly file: string;
  /** Tells whether a file that is not there is made, or refused. */
  readonly missing: 'create' | 'refuse';
}

export const opening = 0;

/** Units in one answer: a few milliseconds' work on both sides. */
export const unitsAtOnce = 200;

export type ReadQuestion =
  | { readonly is: 'load' }
  | { readonly is: 'units'; readonly after: string | null }
  | { readonly is: 'events'; readonly query: EventQuery }
  | { readonly is: 'levels' };

/** Some of what is loaded. */
export interface LoadedPart extends Partial<StoredRecords> {
  readonly versions?: readonly VersionRecord[];
}

/** A chunk of the answer to each question; `never`: the answer is that it was done. */
export interface ReadAnswers {
  readonly load: LoadedPart;
  /** At most `unitsAtOnce` that come after the one with this id. */
  readonly units: readonly UnitRecord[];
  readonly events: readonly EventRecord[];
  readonly levels: readonly LevelRecord[];
}

export type Question = ReadQuestion | HistoryQuestion | SetQuestion;

export type Chunk<Asked extends Question> = (ReadAnswers & HistoryAnswers & SetAnswers)[Asked['is']];

/** A part of a write; the write is made, as a whole, once the last part is there. */
export interface WritePart {
  readonly id: number;
  readonly is: 'write';
  readonly changes: Changes;
  readonly isLast: boolean;
}

/** `close` has no answer but the thread's end. */
export type Request =
  | WritePart
  | { readonly id: number; readonly is: 'ask'; readonly question: Question }
  | { readonly is: 'close' };

/** To each question any number of chunks, then `done` or `fault`. */
export type Answer =
  | { readonly id: number; readonly is: 'chunk'; readonly chunk: Chunk<Question> }
  | { readonly id: number; readonly is: 'done' }
  | { readonly id: number; readonly is: 'fault'; readonly fault: StoreFault }
  /** Comes once, when the store has been opened. */
  | { readonly id: typeof opening; readonly is: 'open'; readonly refusedFiles: readonly RefusedFile[] };

/** A `SoftquotaError`; between threads an error would lose its class and its code. */
interface StoreFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly cause: unknown;
}

export function storeFaultOf(error: SoftquotaError): StoreFault {
  const { code, message, cause } = error;
  return { code, message, cause: cause instanceof Error ? cause.message : undefined };
}

export function errorOf({ code, message, cause }: StoreFault): SoftquotaError {
  return new SoftquotaError(code, message, { cause });
}
