/** Messages between a store and its thread. */

import { type ErrorCode, SoftquotaError } from '../../errors.ts';
import type { UnitColumns } from '../packed-units.ts';
import type { EventQuery, EventRecord, LevelRecord } from '../record-store.ts';
import type { Changes, StoredRecords, VersionRecord } from '../store.ts';
import type { HistoryAnswer, HistoryQuestion } from './history.ts';
import type { OwnerColumns } from './owner-rows.ts';
import type { RefusedFile } from './set-files.ts';
import type { SetAnswer, SetQuestion } from './unit-sets.ts';

/** The settings that a thread is started with; it answers with `opening` as the id. */
export interface ThreadSettings {
  readonly file: string;
  /** Tells whether a file that is not there is made, or refused. */
  readonly missing: 'create' | 'refuse';
}

export const opening = 0;

/** A part of a write; the write is made, as a whole, once the last part is there. */
export type WritePart = {
  readonly id: number;
  readonly ask: 'write';
  readonly changes: Changes;
  readonly isLast: boolean;
};

export type Reading =
  | { readonly id: number; readonly ask: 'load' }
  | {
      readonly id: number;
      readonly ask: 'units';
      readonly after: Uint8Array | null;
      readonly spare: ArrayBuffer | null;
    }
  | { readonly id: number; readonly ask: 'events'; readonly query: EventQuery }
  | { readonly id: number; readonly ask: 'levels' };

export type HistoryRequest = {
  readonly id: number;
  readonly ask: 'history';
  readonly question: HistoryQuestion;
};

export type SetRequest = {
  readonly id: number;
  readonly ask: 'sets';
  readonly question: SetQuestion;
};

export type Question = WritePart | Reading | HistoryRequest | SetRequest;

/** `close` has no answer but the thread's end. */
export type Request = Question | { readonly ask: 'close' };

/** Some of what was asked for. */
export interface Chunk extends Partial<Omit<StoredRecords, 'owners'>> {
  readonly counts?: { readonly owners: number; readonly units: number };
  readonly owners?: OwnerColumns;
  readonly units?: UnitColumns;
  readonly versions?: readonly VersionRecord[];
  readonly events?: readonly EventRecord[];
  readonly levels?: readonly LevelRecord[];
  readonly history?: HistoryAnswer;
  readonly sets?: SetAnswer;
  /** Comes once, when the store is opened. */
  readonly refusedFiles?: readonly RefusedFile[];
}

/** To each question any number of chunks, then `done` or `fault`. */
export type Answer =
  | { readonly id: number; readonly is: 'chunk'; readonly chunk: Chunk }
  | { readonly id: number; readonly is: 'done' }
  | { readonly id: number; readonly is: 'fault'; readonly fault: StoreFault };

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
