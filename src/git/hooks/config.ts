/** Reads and changes the configuration file of a repository, which strangers may have written. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgramOptions, runProgram } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { ChangedMeanwhile, type Folder } from './folder.ts';

/**
 * The values of the keys that match, the last of each. Included files are not read: whoever wrote it chose
 * them.
 */
export async function readConfig(repository: Folder, keys: string): Promise<ReadonlyMap<string, string>> {
  const { bytes } = configOf(repository);
  const args = ['config', '--file', '-', '--no-includes', '-z', '--get-regexp', keys];
  return new Map(configEntriesIn(await git(args, { input: bytes })));
}

/** The entries that `git config -z` prints, each ended by NUL; one without a value is true. */
export function configEntriesIn(output: string): readonly (readonly [key: string, value: string])[] {
  return output
    .split('\0')
    .filter(entry => entry !== '')
    .map(entry => {
      const end = entry.indexOf('\n');
      return end === -1 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)];
    });
}

/** Facts about hooks from a repository's own configuration. */
export interface ConfigFacts {
  readonly hooksPath: string | null;
  /** The project that GitLab wrote there. */
  readonly gitlabProject: string | null;
  /** Tells whether clients are asked for signed pushes; the value is a secret. */
  readonly signedPushes: boolean;
  /** Settings of release 0.1. */
  readonly oldSettings: boolean;
}

export async function readFacts(repository: Folder): Promise<ConfigFacts> {
  const keys = await readConfig(
    repository,
    `^(core\\.hookspath|gitlab\\.fullpath|receive\\.certnonceseed|softquota\\.[a-z]+)$`,
  );
  return {
    hooksPath: keys.get('core.hookspath') ?? null,
    gitlabProject: keys.get('gitlab.fullpath') ?? null,
    signedPushes: keys.has('receive.certnonceseed'),
    oldSettings: [...keys.keys()].some(key => oldKeys.test(key)),
  };
}

/** Keys of release 0.1; softquota.owner is an administrator's, for OWNER = git-config. */
export const oldKeys = /^softquota\.(socket|onerror|lastfor|timeout|judgetimeout|client)$/;

const mostAttempts = 5;

/**
 * Has `edit` change a copy of the file, and puts that in its place under config.lock, as git does. Owner and
 * mode stay. Rejects with `conflict` where another program has the lock, or changes the file again and again.
 */
export async function changeConfig(repository: Folder, edit: (copy: string) => Promise<void>): Promise<void> {
  const workshop = await mkdtemp(join(tmpdir(), 'softquota-'));
  const copy = join(workshop, 'config');
  try {
    for (let attempt = 1; ; attempt++) {
      const seen = configOf(repository);
      const { mode, uid, gid } = seen.stats;
      await writeFile(copy, seen.bytes);
      await edit(copy);
      const belonging = { mode: mode & 0o7777, uid, gid };
      try {
        return await repository.writeLocked(seen, 'config', await readFile(copy), belonging);
      } catch (error) {
        if (systemCode(error) === 'EEXIST') {
          const lock = `${repository.path}/config.lock`;
          throw new SoftquotaError(
            'conflict',
            `another program is changing the configuration: ${lock} exists`,
          );
        }
        if (!(error instanceof ChangedMeanwhile) || attempt === mostAttempts) throw error;
      }
    }
  } finally {
    await rm(workshop, { recursive: true });
  }
}

/** The repository's config file; throws `conflict` where it is none. */
export function configOf(repository: Folder) {
  const config = repository.entry('config');
  if (config.kind === 'file' && config.whole) return config;
  const what = config.kind === 'file' ? 'is larger than 1 MiB' : noFile[config.kind];
  throw new SoftquotaError('conflict', `${repository.path}/config ${what}`);
}

const noFile = {
  absent: 'does not exist',
  link: 'is a symbolic link, and nothing is written through a link',
  directory: 'is not a file',
  special: 'is not a file',
} as const;

/**
 * Has git read a user's own file with that user's rights: a link that they made of it may lead anywhere.
 * Others than root have their own rights only.
 */
export function asOwner(owner: NonNullable<ProgramOptions['user']>): Pick<ProgramOptions, 'user'> {
  return process.getuid?.() === 0 ? { user: owner } : {};
}

const gitMs = 10_000;

/**
 * git in no repository, and without anybody's configuration; an exit status that says "no such key" gives
 * nothing.
 */
export async function git(
  args: readonly string[],
  options: Pick<ProgramOptions, 'input' | 'user'> = {},
): Promise<string> {
  const env = { LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const { status, output, complaint } = await runProgram('git', args, { ...options, env, timeoutMs: gitMs });
  if (status === 0 || status === 1 || status === 5) return output;
  throw new SoftquotaError('conflict', `git ${args[0]}: ${complaint || `ended with ${status}`}`);
}

/** `receive.certNonceSeed` is a secret: only its name is looked for. */
const signedPushes = ['--no-includes', '--name-only', '-z', '--get-regexp', '^receive\\.certnonceseed$'];

/**
 * Tells whether the system's configuration says so, or that of a file; one that git cannot read says nothing.
 */
export async function configAsksForSignedPushes(
  source: 'system' | { readonly file: string; readonly owner: NonNullable<ProgramOptions['user']> },
): Promise<boolean> {
  const where = source === 'system' ? ['--system'] : ['--file', source.file];
  const reader = source === 'system' ? {} : asOwner(source.owner);
  return (await git(['config', ...where, ...signedPushes], reader).catch(() => '')) !== '';
}
