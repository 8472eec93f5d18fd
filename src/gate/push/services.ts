/**
 * The parts of the daemon that a push needs: its quarantine, the book of pushes, and the worker.
 */

import type { Quarantine } from '../../layout/index.ts';
import type { LocatedUnit } from '../located-unit.ts';
import type { WorkerLink } from '../worker.ts';

export interface PushAnswer {
  /** 200: go on; 202: ask again; 404: not managed; 413: refused. */
  readonly status: 200 | 202 | 404 | 413;
  /** The lines that the hook shows. */
  readonly text: string;
}

export type QuarantineLook =
  | { readonly is: 'seen'; readonly quarantine: Quarantine }
  | { readonly is: 'absent' }
  /** Neither the daemon nor the worker may read it, or neither did in time. */
  | { readonly is: 'unreadable' };

/** A push that may go on. */
export interface AllowedPush {
  readonly unit: LocatedUnit;
  /** Null: nobody could read it, or git made none. */
  readonly quarantine: Quarantine | null;
  /** The name of the quarantine; null: git made none. */
  readonly name: string | null;
  /** git's lines `OLD NEW REF`. */
  readonly lines: string;
}

/** The pushes under way. */
export interface PushServices {
  /**
   * Looks at the unit's quarantine of this name, on a thread or by the git user's worker. Never rejects.
   */
  look(unit: string, name: string, deadlineMs: number): Promise<QuarantineLook>;
  /**
   * Counts a push from now on until a walk that began after its end; in place of an earlier one of this name.
   */
  begin(push: AllowedPush): void;
  /** Takes a push back that was allowed before and is decided anew. */
  withdraw(unit: string, name: string): void;
  /** post-receive ran: these refs were written. The unit is walked soon. */
  arrived(unit: string, lines: string): void;
  /** Walks a unit at once, whose push has nothing that could be watched. */
  measure(unit: string): void;
  /**
   * The unit that is this very directory under another path, as with a bind mount, by device and inode, or
   * whose linked worktree it is, through `commondir`; null: none is.
   */
  sameDirectory(path: string): Promise<string | null>;
  /**
   * Returns those of these names that exist in the unit, each a ref (loose or packed) or a directory or file
   * below it; for refs that would make a folder a repository. Rejects with `not_ready` where the disk does
   * not answer.
   */
  existingNames(unit: string, prefixes: readonly string[]): Promise<readonly string[]>;
  /**
   * The repository's configuration has git refuse --force; false as well where that cannot be read. Never
   * rejects.
   */
  deniesForce(unit: string): Promise<boolean>;
}

/** The git user's worker, as pushes need it. */
export interface PushWorker {
  readonly link: Pick<WorkerLink, 'ask' | 'connection' | 'isClosed' | 'isHere' | 'take'>;
  /** Tells whether a worker is connected. */
  readonly isHere: boolean;
  /** A push came by the git with this exec path. */
  gitUsed(execPath: string): void;
  /** A push may write refs there: nothing in the unit is forgiven until it is measured again. */
  letThrough(unit: string): void;
  /** Refs were written there. */
  changed(unit: string): void;
  /** A receive-pack asked before the objects of a push came: nothing of a refused one is left behind. */
  askedEarly(): void;
  /** Measures a quarantine by the git user's rights; null: it cannot. */
  quarantine(unit: string, name: string, deadlineMs: number): Promise<Quarantine | null>;
  /**
   * The lines that tell what takes the space in this unit, for whoever may read it; empty: nothing is known.
   */
  spaceLines(unit: string): readonly string[];
}
