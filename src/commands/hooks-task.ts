/** The tasks of `softquota hooks`. */

import type { CommonOptions } from './settings.ts';

export interface HooksOptions extends CommonOptions {
  /** The home of gitolite's user; true: to be found. */
  readonly gitolite?: string | true;
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

export interface HooksTask {
  readonly act: 'install' | 'status' | 'remove';
  readonly roots: readonly string[];
  /** Only an installation has all of them. */
  readonly options: HooksOptions;
}
