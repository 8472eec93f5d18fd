/** The tasks of `softquota hooks`. */

import type { ConfigOption } from './settings.ts';

export interface TargetOptions {
  /** The home of gitolite's user; true: to be found. */
  readonly gitolite?: string | true;
  readonly json?: boolean;
}

export interface InstallTaskOptions extends ConfigOption, TargetOptions {
  readonly onError?: string;
  readonly lastFor?: string;
  readonly shared?: string;
  readonly template?: string;
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
