/**
 * The things that doctor is shown (the configuration, the ways to ask the daemon, and whom it runs as), and
 * the result of a check.
 */

import type { LoadedConfig, RefusedConfig } from '../config/index.ts';
import type { Finding } from '../wire/index.ts';

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

/** A user that git runs as, or the daemon's. */
export interface HookUser {
  readonly uid: number;
  /** The group of the user's files, for one whom no database knows. */
  readonly gid: number;
}

export interface CheckResult {
  readonly findings: readonly Finding[];
  /** The things that were looked at, in a few words with their numbers. */
  readonly checked?: readonly string[];
  /** The things that this user may not look at. */
  readonly missed?: readonly string[];
}

/** All that several checks came back with. */
export function together(parts: readonly CheckResult[]): Required<CheckResult> {
  return {
    findings: parts.flatMap(part => part.findings),
    checked: parts.flatMap(part => part.checked ?? []),
    missed: parts.flatMap(part => part.missed ?? []),
  };
}
