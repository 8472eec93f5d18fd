/** What the process that does the work and the one that started it tell each other, as JSON. */

import type { ErrorCode } from '../../errors.ts';

/** The message to the process that does the work, on its standard input. */
export interface TaskOrder<Task> {
  readonly task: Task;
  /** The directories below which disks do not answer. */
  readonly avoided: readonly string[];
  /** What is done already, by name, with what it came to. */
  readonly parts: readonly (readonly [string, unknown])[];
}

/** The descriptor on which the process that does the work reports, one message a line. */
export const descriptor = 3;

export type Report =
  /** It is about to look at this path. */
  | { readonly type: 'look'; readonly path: string }
  /** It waits for no disk. */
  | { readonly type: 'beat' }
  /** This part need not be done again. */
  | { readonly type: 'part'; readonly name: string; readonly value: unknown }
  /** The last one: what all of it came to. */
  | { readonly type: 'result'; readonly value: unknown }
  /** The last one: it ended with this fault. */
  | { readonly type: 'fault'; readonly code: ErrorCode; readonly message: string };
