/** The things that doctor is shown: the configuration, the ways to ask the daemon, and whom it runs as. */

import type { LoadedConfig, RefusedConfig } from '../config/index.ts';

/** GETs from a socket; rejects with `unreachable` or `not_permitted`. */
export type Ask = (path: string) => Promise<{
  readonly status: number;
  readonly json: unknown;
}>;

export interface Installation {
  readonly loaded: LoadedConfig;
  /** The administrator's API. */
  readonly admin: Ask;
  readonly gate: Ask;
  readonly context: HostContext;
}

/** The part that is there without a configuration, too. */
export interface HostContext {
  /** User whom doctor runs as; 0 may look everywhere. */
  readonly uid: number;
  /** The value of `--config`, to be repeated in the commands that mend. */
  readonly configOption: string | null;
  /** The hooks' settings for the whole host. */
  readonly hookConf: string;
}

export interface Loaded {
  readonly loaded: LoadedConfig | RefusedConfig;
  /** The clients of a sound configuration. */
  readonly clients: (loaded: LoadedConfig) => Pick<Installation, 'admin' | 'gate'>;
  readonly context: HostContext;
}
