/** Reads the configuration file of a repository, which strangers may have written. */

import { type ProgramOptions, runProgram } from '../../bounded/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { configEntries, decodePath } from '../../layout/index.ts';
import type { Folder } from './folder.ts';

export interface ConfigFacts {
  readonly hooksPath: string | null;
  /** The name of the project, which GitLab writes there. */
  readonly gitlabProject: string | null;
  /** Tells whether git asks clients for signed pushes; the value of the setting is a secret. */
  readonly signedPushes: boolean;
}

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
  };
}

function configOf(repository: Folder) {
  const config = repository.entry('config');
  if (config.kind === 'file' && config.whole) return config;
  const what = config.kind === 'file' ? 'is larger than 1 MiB' : noFile[config.kind];
  throw new SoftquotaError('conflict', `${repository.path}/config ${what}`);
}

const noFile = {
  absent: 'does not exist',
  link: 'is a symbolic link, which is not followed',
  directory: 'is not a file',
  special: 'is not a file',
} as const;

/** A configuration outside of repositories; a user's own is read with that user's rights. */
type ConfigSource = 'system' | { readonly file: string; readonly owner: NonNullable<ProgramOptions['user']> };

const gitMs = 10_000;

/** Reads a key, without included files; null if it has no value, or git cannot read the file. */
export async function configSetting(source: ConfigSource, key: string): Promise<string | null> {
  const where = source === 'system' ? ['--system'] : ['--file', source.file];
  // Only root can read with another user's rights.
  const reader = source !== 'system' && process.getuid?.() === 0 ? { user: source.owner } : {};
  const args = ['config', ...where, '--no-includes', '-z', '--get', key];
  const env = { LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const ended = await runProgram('git', args, { ...reader, env, timeoutMs: gitMs }).catch(() => null);
  return ended?.status === 0 ? ended.output.replace(/\0$/, '') : null;
}
