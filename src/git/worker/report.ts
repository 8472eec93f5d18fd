/** How the worker stands, as it tells the daemon. */

import type { Quarantines } from './quarantines/quarantines.ts';

/** The state of the job that keeps the guards; the list of unguarded repositories is cut off. */
export interface JobReport {
  readonly repositories: number;
  readonly unguarded: {
    readonly count: number;
    readonly first: readonly { readonly path: string; readonly why: string }[];
  };
  /** Guards that were in place, vanished, and were put back. */
  readonly putBack: { readonly count: number; readonly last: string | null };
}

/** The last collection of garbage in a repository. Times are milliseconds since 1970. */
export interface Collection {
  readonly at: number;
  /** Below 0 where pushes brought more meanwhile. */
  readonly freedBytes: number;
  /** Why nothing was deleted, in git's own words where it is git that failed; null: it succeeded. */
  readonly fault: string | null;
}

/** The reachable bytes of a repository. */
export interface RepositoryFigures {
  readonly path: string;
  readonly at: number;
  /** The daemon's mark that was known when measuring began; empty: none was. */
  readonly mark: string;
  /** Null: it could not be measured. */
  readonly measured: {
    readonly objectBytes: number;
    readonly reachableBytes: number;
    readonly unreachableBytes: number;
    /** Other repositories use its objects, also those that none of its own refs reaches. */
    readonly isLent: boolean;
  } | null;
  readonly fault: string | null;
  readonly collected: Collection | null;
}

export interface WorkerReport {
  readonly version: string;
  readonly pid: number;
  readonly uid: number;
  /** The programs of git that it can run. */
  readonly gits: readonly {
    readonly path: string;
    readonly version: string;
    readonly exec_paths: readonly string[];
  }[];
  readonly quarantines: ReturnType<Quarantines['report']>;
  /** Null where `[hooks] KEEP` is false. */
  readonly hooks: JobReport | null;
  /** Those whose figures are new. */
  readonly repositories: readonly RepositoryFigures[];
}

/** Turns a report into JSON, in snake_case. */
export function reportJson({ hooks, repositories: figures, ...worker }: WorkerReport): object {
  const others = { ...worker, repositories: figures.map(figuresJson) };
  if (hooks === null) return { ...others, hooks: null };
  const { repositories, unguarded, putBack } = hooks;
  return { ...others, hooks: { repositories, unguarded, put_back: putBack } };
}

export function figuresJson({ path, at, mark, measured, fault, collected }: RepositoryFigures): object {
  return {
    path,
    at,
    mark,
    measured: measured && {
      object_bytes: measured.objectBytes,
      reachable_bytes: measured.reachableBytes,
      unreachable_bytes: measured.unreachableBytes,
      lent: measured.isLent,
    },
    fault,
    collected: collected && {
      at: collected.at,
      freed_bytes: collected.freedBytes,
      fault: collected.fault,
    },
  };
}
