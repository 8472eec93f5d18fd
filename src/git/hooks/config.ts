/**
 * Reads and changes the configuration file of a repository, which strangers may have written.
 *
 * Release 0.1 had settings and files outside of its hooks: softquota.* in the configurations of repositories,
 * softquota-* files beside their objects, and /etc/softquota/hook.conf. Installation takes these settings
 * over, and removes them from the repository.
 */

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProgramOptions, readBounded, runProgram } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { configEntries, decodePath } from '../../layout/index.ts';
import { belongingOf, type Folder } from './folder.ts';
import { type HookSettings, parsePolicies } from './hook.ts';

export interface ConfigFacts {
  readonly hooksPath: string | null;
  /** The name of the project, which GitLab writes there. */
  readonly gitlabProject: string | null;
  /** Tells whether git asks clients for signed pushes; the value of the setting is a secret. */
  readonly signedPushes: boolean;
  /** Values of release 0.1 by their keys, without softquota.owner, which OWNER = git-config may use. */
  readonly oldSettings: ReadonlyMap<string, string>;
}

const oldKey = /^softquota\.(socket|onerror|lastfor|timeout|judgetimeout|client)$/;

/** Reads the configuration without included files, which a stranger may have chosen. */
export function readFacts(repository: Folder): ConfigFacts {
  const read = configEntries(decodePath(configOf(repository).bytes));
  if (read.found === 'fault')
    throw new SoftquotaError('conflict', `${repository.path}/config: git cannot read line ${read.line}`);
  const keys = new Map(read.entries.map(({ key, value }) => [key, value ?? 'true']));
  return {
    hooksPath: keys.get('core.hookspath') ?? null,
    gitlabProject: keys.get('gitlab.fullpath') ?? null,
    signedPushes: keys.has('receive.certnonceseed'),
    oldSettings: new Map([...keys].filter(([key]) => oldKey.test(key))),
  };
}

/**
 * Removes keys in a copy of the file, and replaces the file by it under config.lock, as git does. Owner and
 * mode stay. Rejects with `conflict` if another program has the lock, or changes the file meanwhile.
 */
async function unsetKeys(repository: Folder, keys: Iterable<string>): Promise<void> {
  const seen = configOf(repository);
  const workshop = await mkdtemp(join(tmpdir(), 'softquota-'));
  const copy = join(workshop, 'config');
  try {
    await writeFile(copy, seen.bytes);
    for (const key of keys) await git(['config', '--file', copy, '--unset-all', key]);
    const locked = { seen, temporary: 'config.lock' };
    await repository.write('config', await readFile(copy), belongingOf(seen.stats), locked);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    const lock = `${repository.path}/config.lock`;
    throw new SoftquotaError('conflict', `another program is changing the configuration: ${lock} exists`);
  } finally {
    await rm(workshop, { recursive: true });
  }
}

function configOf(repository: Folder) {
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

/** A configuration outside of repositories; a user's own is read with that user's rights. */
type ConfigSource = 'system' | { readonly file: string; readonly owner: NonNullable<ProgramOptions['user']> };

/** Reads a key, without included files; null if it has no value, or git cannot read the file. */
export async function configSetting(source: ConfigSource, key: string): Promise<string | null> {
  const where = source === 'system' ? ['--system'] : ['--file', source.file];
  // Only root can read with another user's rights.
  const reader = source !== 'system' && process.getuid?.() === 0 ? { user: source.owner } : {};
  const args = ['config', ...where, '--no-includes', '-z', '--get', key];
  const output = await git(args, reader).catch(() => '');
  return output === '' ? null : output.replace(/\0$/, '');
}

const gitMs = 10_000;

/** Runs git in no repository, without any other configuration. A missing key is no error. */
async function git(args: readonly string[], options: Pick<ProgramOptions, 'user'> = {}): Promise<string> {
  const env = { LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const { status, output, complaint } = await runProgram('git', args, { ...options, env, timeoutMs: gitMs });
  if (status === 0 || status === 1 || status === 5) return output;
  throw new SoftquotaError('conflict', `git ${args[0]}: ${complaint || `ended with ${status}`}`);
}

export const hookConfPath = '/etc/softquota/hook.conf';

/** Settings of release 0.1 that stay in force. A value that its hooks did not accept is left out. */
export type OldSettings = Partial<Pick<HookSettings, 'onError' | 'lastFor'>>;

/** Files of 0.1 in a repository; a hook that was killed left a file with its process number behind. */
const oldFile = /^softquota-(?:promise|judging|space|offline)(?:\.\d+)?$/;

export async function oldFiles(repository: Folder): Promise<readonly string[]> {
  const names = await readdir(repository.at('.'));
  return names.filter(name => oldFile.test(name) && repository.entry(name).kind === 'file').sort();
}

/** Reads the settings of 0.1 from the repository's configuration, which is parsed only if it has some. */
function oldValues(repository: Folder): ReadonlyMap<string, string> {
  const config = repository.entry('config');
  if (config.kind !== 'file' || !/softquota/i.test(config.bytes.toString('latin1'))) return new Map();
  return readFacts(repository).oldSettings;
}

/** Reads hook.conf if it exists: in 0.1 it replaced the repository's own settings. */
export function readOldSettings(repository: Folder, hookConf: string): OldSettings {
  const file = readBounded(hookConf, { follow: true });
  if (file.kind === 'file') return settingsOf(new Map(linesOf(file.bytes.toString())));
  return settingsOf(oldValues(repository));
}

function linesOf(text: string): [string, string][] {
  return text.split('\n').flatMap(line => {
    const setting = line.trim();
    const [key = ''] = /^[A-Za-z]+(?=[ \t=])/.exec(setting) ?? [];
    return key === ''
      ? []
      : [[`softquota.${key.toLowerCase()}`, setting.slice(key.length).replace(/^[ \t=]+/, '')]];
  });
}

function settingsOf(values: ReadonlyMap<string, string>): OldSettings {
  return {
    ...accepted({ onError: values.get('softquota.onerror') }),
    ...accepted({ lastFor: values.get('softquota.lastfor') }),
  };
}

function accepted(named: Parameters<typeof parsePolicies>[0]): OldSettings {
  try {
    return parsePolicies(named);
  } catch {
    return {};
  }
}

export async function removeOld(repository: Folder): Promise<void> {
  for (const name of await oldFiles(repository)) await repository.remove(name);
  const values = oldValues(repository);
  if (values.size > 0) await unsetKeys(repository, values.keys());
}
