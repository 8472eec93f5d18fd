/** The programs of git on this host that the worker may run, and what they can do. */

import { realpathSync } from 'node:fs';
import { runProgram } from '../../../bounded/index.ts';
import { messageOf } from '../../../errors.ts';
import { readGitSettings, UnusableRepository } from './repository-config.ts';

export interface GitVersion {
  readonly major: number;
  readonly minor: number;
}

export interface GitProgram extends GitVersion {
  readonly program: string;
  /** `git --exec-path` as git prints it, and with links resolved. */
  readonly execPaths: readonly string[];
  /** The version in git's own words, such as 2.39.5. */
  readonly version: string;
}

interface FoundGits {
  readonly gits: readonly GitProgram[];
  readonly faults: readonly { readonly program: string; readonly why: string }[];
}

const askMs = 10_000;

/** Tries each program of `[reclaim] GIT`. Before 2.31 git cannot sum up the bytes of objects on the disk. */
export async function findGits(programs: readonly string[]): Promise<FoundGits> {
  const gits: GitProgram[] = [];
  const faults: { program: string; why: string }[] = [];
  for (const program of programs) {
    try {
      const { output } = await runProgram(program, ['--version'], { timeoutMs: askMs });
      const [, version = '', major, minor] = /^git version ((\d+)\.(\d+)\S*)/.exec(output) ?? [];
      const git = { major: Number(major ?? 0), minor: Number(minor ?? 0) };
      if (isAtLeast(git, 2, 31)) {
        const { output: folder } = await runProgram(program, ['--exec-path'], { timeoutMs: askMs });
        const execPath = folder.trim();
        gits.push({ ...git, program, version, execPaths: [execPath, physical(execPath)] });
      } else faults.push({ program, why: `git 2.31 or later is needed, not ${output.trim()}` });
    } catch (error) {
      faults.push({ program, why: `git cannot be run: ${messageOf(error)}` });
    }
  }
  return { gits, faults };
}

/** Chooses the git for a repository. `execPath` may come from anybody: it only selects one of `gits`. */
export function gitOf(gits: readonly GitProgram[], execPath: string, path: string): GitProgram | null {
  const usual = gits.find(git => git.execPaths.includes(execPath)) ?? gits[0] ?? null;
  if (usual === null || canReadReftable(usual) || !isInReftable(path)) return usual;
  return gits.find(canReadReftable) ?? usual;
}

export function canReadReftable(git: GitVersion): boolean {
  return isAtLeast(git, 2, 45);
}

function isInReftable(path: string): boolean {
  try {
    return readGitSettings(path).refStorage === 'reftable';
  } catch (error) {
    // The view will report why the repository cannot be used.
    if (error instanceof UnusableRepository) return false;
    throw error;
  }
}

export function isAtLeast({ major, minor }: GitVersion, wantedMajor: number, wantedMinor: number): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

function physical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
