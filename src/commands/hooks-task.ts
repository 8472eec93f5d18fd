/** The tasks of `softquota hooks`. */

import type { ConfigOption } from './settings.ts';

export interface TargetOptions {
  /** The home of gitolite's user; true: to be found. */
  readonly gitolite?: string | true;
  readonly json?: boolean;
}

export interface InstallTaskOptions extends ConfigOption, TargetOptions {
  readonly socket?: string;
  readonly client?: string;
  readonly onError?: string;
  readonly lastFor?: string;
  /** Gitaly's custom_hooks_dir. */
  readonly gitlab?: string;
  /** A directory for core.hooksPath. */
  readonly hooksPath?: string;
  /** A directory for upload, quota and receive-pack/git. */
  readonly programs?: string;
}

export const rootsHelp = 'repositories, or directories that contain repositories at any depth';

export type HooksTask =
  | { readonly act: 'install'; readonly roots: readonly string[]; readonly options: InstallTaskOptions }
  | {
      readonly act: 'status';
      readonly roots: readonly string[];
      readonly options: ConfigOption & TargetOptions;
    }
  | { readonly act: 'remove'; readonly roots: readonly string[]; readonly options: TargetOptions };
