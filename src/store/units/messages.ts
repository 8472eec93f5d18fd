/** Messages between the store of sets and its thread. */

import type { LargeUnit } from '../record-store.ts';
import type { StoreFault } from '../sqlite/messages.ts';
import type { LostSet, UnitQuery, UnitSetRecord, UnitSum } from '../unit-sources.ts';

/** The settings that the thread is started with. */
export interface ThreadSettings {
  readonly directory: string;
  /** Owners' names compare without the case of ASCII letters. */
  readonly foldCase: boolean;
}

/** The questions; `writer` is the number of a set that is being made. */
export type Question =
  | { readonly ask: 'load' }
  | { readonly ask: 'begin'; readonly writer: number; readonly source: string }
  | { readonly ask: 'take'; readonly writer: number; readonly chunk: Uint8Array }
  | { readonly ask: 'finish'; readonly writer: number; readonly record: UnitSetRecord }
  | { readonly ask: 'keep'; readonly writer: number }
  | { readonly ask: 'discard'; readonly writer: number }
  | { readonly ask: 'remove'; readonly source: string }
  | { readonly ask: 'units'; readonly query: UnitQuery };

/**
 * `more` asks for what comes after a chunk: whoever takes them is never given more than one at a time.
 * `close` has no answer but the thread's end.
 */
export type Request =
  | (Question & { readonly id: number })
  | { readonly ask: 'more'; readonly id: number }
  | { readonly ask: 'close' };

/** Some of what was asked for. */
export type Chunk =
  | { readonly set: UnitSetRecord }
  /** The sums of the set that was named last. */
  | { readonly sums: readonly UnitSum[] }
  /** Where it is begun, what was told of the last set counts for nothing. */
  | { readonly lost: LostSet; readonly isBegun: boolean }
  | { readonly units: readonly LargeUnit[] };

/** To each question any number of chunks, each after `more` was asked for, then `done` or `fault`. */
export type Answer =
  | { readonly id: number; readonly is: 'chunk'; readonly chunk: Chunk }
  | { readonly id: number; readonly is: 'done' }
  | { readonly id: number; readonly is: 'fault'; readonly fault: StoreFault };
