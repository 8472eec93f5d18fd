/** How the worker stands, as it tells the daemon. */

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

export interface WorkerReport {
  readonly version: string;
  readonly pid: number;
  readonly uid: number;
  /** Null where `[hooks] KEEP` is false. */
  readonly hooks: JobReport | null;
}

/** As JSON, in snake_case. */
export function reportJson({ hooks, ...worker }: WorkerReport): object {
  if (hooks === null) return { ...worker, hooks: null };
  const { repositories, unguarded, putBack } = hooks;
  return { ...worker, hooks: { repositories, unguarded, put_back: putBack } };
}
