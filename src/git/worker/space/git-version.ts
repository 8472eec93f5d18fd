/** The version of git on this host, and what it can do. */

import { runProgram } from '../../../bounded/index.ts';
import { messageOf } from '../../../errors.ts';

export interface GitVersion {
  readonly major: number;
  readonly minor: number;
}

export type FoundGit =
  | { readonly is: 'version'; readonly version: GitVersion }
  | { readonly is: 'missing'; readonly why: string };

const versionMs = 10_000;

/** Before 2.31 git does not say how much objects take on the disk. */
export async function findGit(): Promise<FoundGit> {
  try {
    const { output } = await runProgram('git', ['--version'], { timeoutMs: versionMs });
    const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(output) ?? [];
    const version = { major: Number(major ?? 0), minor: Number(minor ?? 0) };
    if (isAtLeast(version, 2, 31)) return { is: 'version', version };
    return { is: 'missing', why: `git 2.31 or later is needed, not ${output.trim()}` };
  } catch (error) {
    return { is: 'missing', why: `git cannot be run: ${messageOf(error)}` };
  }
}

export function isAtLeast({ major, minor }: GitVersion, wantedMajor: number, wantedMinor: number): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
