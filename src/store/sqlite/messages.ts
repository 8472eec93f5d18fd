/** Messages between a store and its thread. */

import { type ErrorCode, SoftquotaError } from '../../errors.ts';
import type { Changes } from '../store.ts';
import type { historian } from './history.ts';
import type { reader } from './records.ts';
import type { RefusedFile } from './set-files.ts';
import type { unitSets } from './unit-sets.ts';

/** Settings of a new thread, which answers them with `open` or `refused`. */
export interface ThreadSettings {
  readonly file: string;
  /** Tells whether a missing file is created or refused. */
  readonly missing: 'create' | 'refuse';
}

/** All handlers of a thread, by name. Each returns its answer in chunks, or none. */
type Handlers = ReturnType<typeof reader> & ReturnType<typeof historian> & ReturnType<typeof unitSets>;

export type Question = keyof Handlers;

/** Sends a question, and returns the whole answer. */
export type AskThread = <Name extends Question>(
  name: Name,
  ...args: Parameters<Handlers[Name]>
) => Promise<ReturnType<Handlers[Name]> extends Iterable<readonly (infer Item)[]> ? readonly Item[] : void>;

/** A part of a write, which is made as a whole once the last part has come. */
export interface WritePart {
  readonly id: number;
  readonly is: 'write';
  readonly changes: Changes;
  readonly isLast: boolean;
}

export interface QuestionRequest {
  readonly id: number;
  readonly is: 'ask';
  readonly name: Question;
  readonly args: readonly unknown[];
}

/** `close` has no answer but the thread's end. */
export type Request = WritePart | QuestionRequest | { readonly is: 'close' };

/** Each question gets any number of chunks, then `done` or `fault`. */
export type RequestAnswer =
  | { readonly id: number; readonly is: 'chunk'; readonly chunk: readonly unknown[] }
  | { readonly id: number; readonly is: 'done' }
  | { readonly id: number; readonly is: 'fault'; readonly fault: StoreFault };

/** The first answer is `open` or `refused`. `refusedFiles`: those with sets that could not be taken over. */
export type Answer =
  | RequestAnswer
  | { readonly is: 'open'; readonly refusedFiles: readonly RefusedFile[] }
  | { readonly is: 'refused'; readonly fault: StoreFault };

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
