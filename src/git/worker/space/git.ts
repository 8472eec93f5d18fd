/**
 * The programs of git on this host that the worker may run, what they can do, and the few settings of a
 * repository that they need, as plain data.
 */

import { realpathSync } from 'node:fs';
import { readBounded, runProgram } from '../../../bounded/index.ts';
import { messageOf } from '../../../errors.ts';
import { configEntries, configValue, decodePath, encodePath } from '../../../layout/index.ts';

interface GitVersion {
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

function canReadReftable(git: GitVersion): boolean {
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

/** A repository that cannot be worked on, with the reason in words for an administrator. */
export class UnusableRepository extends Error {}

export interface GitSettings {
  readonly objectFormat: 'sha1' | 'sha256';
  readonly refStorage: 'files' | 'reftable';
  /** `core.sharedRepository`: the permissions of new files; null: as the umask has it. */
  readonly sharedRepository: string | null;
  /** `core.bare`; null: the repository does not say. */
  readonly isBare: boolean | null;
  /** `receive.*` and `transfer.hideRefs`, in their order. */
  readonly receive: readonly (readonly [key: string, value: string])[];
  /** Why objects must not be deleted here; null: they may. */
  readonly keepsObjects: string | null;
}

const knownExtensions = new Set([
  'objectformat',
  'refstorage',
  'preciousobjects',
  'partialclone',
  'worktreeconfig',
  'relativeworktrees',
  'noop',
  'noop-v1',
]);
const shared = /^(?:group|all|world|everybody|umask|true|false|[0-7]{1,4})$/i;

/** Does as `readGitSettings`; throws an `UnusableRepository` also if this git cannot read the repository. */
export function gitSettingsFor(program: GitProgram, path: string): GitSettings {
  const settings = readGitSettings(path);
  if (settings.refStorage === 'files' || canReadReftable(program)) return settings;
  throw new UnusableRepository(
    `its refs are in reftable format, which git ${program.version} (${program.program}) cannot read: name git 2.45 or later in [reclaim] GIT`,
  );
}

/** Reads the settings; throws an `UnusableRepository` if the format is unknown or the file unreadable. */
function readGitSettings(path: string): GitSettings {
  const file = readBounded(encodePath(`${path}/config`));
  if (file.kind !== 'file') throw new UnusableRepository(`its config is no regular file (${file.kind})`);
  if (!file.whole) throw new UnusableRepository('its config is longer than 1 MiB');
  const read = configEntries(decodePath(file.bytes));
  if (read.found === 'fault') throw new UnusableRepository(`git cannot read its config, line ${read.line}`);
  const entries = read.entries.map(({ key, value }) => [key, value ?? 'true'] as const);
  const values = new Map(entries);
  const unknown = [...values.keys()].find(
    key => key.startsWith('extensions.') && !knownExtensions.has(key.slice('extensions.'.length)),
  );
  if (unknown !== undefined)
    throw new UnusableRepository(`its config has ${unknown}, which is not known here`);
  const objectFormat = (values.get('extensions.objectformat') ?? 'sha1').toLowerCase();
  const refStorage = (values.get('extensions.refstorage') ?? 'files').toLowerCase();
  if (objectFormat !== 'sha1' && objectFormat !== 'sha256')
    throw new UnusableRepository('its extensions.objectFormat is not known here');
  if (refStorage !== 'files' && refStorage !== 'reftable')
    throw new UnusableRepository('its extensions.refStorage is not known here');
  const sharedRepository = values.get('core.sharedrepository') ?? null;
  return {
    objectFormat,
    refStorage,
    sharedRepository: sharedRepository !== null && shared.test(sharedRepository) ? sharedRepository : null,
    isBare: values.has('core.bare') ? !isOff(values.get('core.bare')) : null,
    receive: entries.filter(([key]) => key.startsWith('receive.') || key === 'transfer.hiderefs'),
    keepsObjects: keptBecause(values),
  };
}

function isOff(value: string | undefined): boolean {
  return ['false', 'no', 'off', '0', '', undefined].includes(value?.toLowerCase());
}

function keptBecause(values: ReadonlyMap<string, string>): string | null {
  if (!isOff(values.get('extensions.preciousobjects'))) return 'its config has extensions.preciousObjects';
  if (values.has('extensions.partialclone')) return 'it is a partial clone';
  // git takes `false` as `never`.
  for (const key of ['gc.pruneexpire', 'gc.cruftexpiration'])
    if (/^(?:never|false)$/i.test(values.get(key) ?? '')) return `its config has ${key} = ${values.get(key)}`;
  return null;
}

/** Tells whether several users write into a repository, by its `core.sharedRepository`. */
export function isShared(path: string): boolean {
  const file = readBounded(encodePath(`${path}/config`));
  if (file.kind !== 'file') return false;
  const said = configValue(decodePath(file.bytes), 'core.sharedRepository');
  if (said.found === 'no value') return true;
  return said.found === 'value' && !/^(?:false|no|off|umask|0|)$/i.test(said.value);
}
