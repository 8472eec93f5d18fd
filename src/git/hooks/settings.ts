/**
 * The settings that the hooks read: /etc/softquota/hook.conf where it exists, else the
 * repository's own config file.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, type ProgramOptions, readBounded, runProgram } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { ChangedMeanwhile, type Folder } from './folder.ts';

export const hookConfPath = '/etc/softquota/hook.conf';

/** The socket that hooks ask where nothing names one. */
export const defaultSocket = '/run/softquota/gate.sock';

/** Tells whether the hooks take this for lastFor. */
export function isLastFor(value: string): boolean {
  return /^[1-9]\d{0,2}[hd]$/.test(value);
}

export interface HookConf {
  /** Tells whether the hooks read it: a file that all can read and only root can write. */
  readonly believed: boolean;
  /** The socket it names. */
  readonly socket: string | null;
  /** The program by which it has the hooks ask. */
  readonly client: string | null;
}

/** Reads the file; null where there is none. */
export function readHookConf(path: string): HookConf | null {
  const file = readBounded(path, { follow: true });
  if (file.kind === 'absent') return null;
  if (file.kind !== 'file') return { believed: false, socket: null, client: null };
  const { uid, mode } = file.stats;
  const believed = uid === 0 && (mode & 0o022) === 0 && (mode & 0o004) !== 0;
  const text = file.bytes.toString();
  return { believed, socket: settingIn(text, 'socket'), client: settingIn(text, 'client') };
}

/** Takes the last of several lines. */
function settingIn(text: string, name: string): string | null {
  let value: string | null = null;
  for (const line of text.split('\n')) {
    const end = line.indexOf('=');
    if (end !== -1 && withoutBlanks(line.slice(0, end)) === name) value = withoutBlanks(line.slice(end + 1));
  }
  return value;
}

/** The text without the spaces and tabs around it, as the shell takes them away. */
export function withoutBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

/** The settings of the hooks in a repository's config file; null where there are none. */
export interface RepositorySettings {
  readonly socket: string | null;
  readonly onError: string | null;
  readonly lastFor: string | null;
  readonly timeout: string | null;
  readonly judgeTimeout: string | null;
  readonly client: string | null;
  readonly hooksPath: string | null;
  /**
   * Tells whether it includes other files, which may say more: they are not read, since whoever wrote it
   * chose them.
   */
  readonly includes: boolean;
  /** The project that GitLab wrote there. */
  readonly gitlabProject: string | null;
}

/** The settings that installing may write, with their keys. */
const keys = {
  socket: 'softquota.socket',
  onError: 'softquota.onerror',
  lastFor: 'softquota.lastfor',
  client: 'softquota.client',
} as const;

export type SettingChanges = Readonly<Partial<Record<keyof typeof keys, string | null>>>;

export async function readSettings(repository: Folder): Promise<RepositorySettings> {
  const config = await configOf(repository);
  const wanted =
    'softquota\\.(socket|onerror|lastfor|timeout|judgetimeout|client)|core\\.hookspath|gitlab\\.fullpath|include(if\\..*)?\\.path';
  const args = ['config', '--file', '-', '--no-includes', '-z', '--get-regexp', `^(${wanted})$`];
  const output = await git(args, { input: config.bytes });
  const values = new Map(
    output.split('\0').map(item => {
      const at = item.indexOf('\n');
      return at === -1 ? [item, ''] : [item.slice(0, at), item.slice(at + 1)];
    }),
  );
  return {
    socket: values.get(keys.socket) ?? null,
    onError: values.get(keys.onError) ?? null,
    lastFor: values.get(keys.lastFor) ?? null,
    timeout: values.get('softquota.timeout') ?? null,
    judgeTimeout: values.get('softquota.judgetimeout') ?? null,
    client: values.get(keys.client) ?? null,
    hooksPath: values.get('core.hookspath') ?? null,
    includes: [...values.keys()].some(key => key.startsWith('include')),
    gitlabProject: values.get('gitlab.fullpath') ?? null,
  };
}

/**
 * Changes settings in the repository's config file; null takes one out. Owner and mode of the file stay.
 */
export async function writeSettings(repository: Folder, changes: SettingChanges): Promise<void> {
  await changeConfig(repository, async bytes => {
    const workshop = await mkdtemp(join(tmpdir(), 'softquota-'));
    try {
      const file = join(workshop, 'config');
      await writeFile(file, bytes);
      for (const [name, key] of Object.entries(keys)) {
        const value = changes[name as keyof typeof keys]; // Object.entries forgets the names
        if (value === undefined) continue;
        const change = value === null ? ['--unset-all', key] : ['--replace-all', key, value];
        await git(['config', '--file', file, ...change]);
      }
      return await readFile(file);
    } finally {
      await rm(workshop, { recursive: true });
    }
  });
}

const mostAttempts = 5;

/**
 * Writes the config file as `edit` gives it, under config.lock as git does, which is held no longer than
 * the writing takes. Rejects with `conflict` where another program has the lock, or changes the file again
 * and again.
 */
async function changeConfig(
  repository: Folder,
  edit: (bytes: Buffer) => Promise<Uint8Array> | Uint8Array,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const seen = await configOf(repository);
    const { mode, uid, gid } = seen.stats;
    try {
      const bytes = await edit(seen.bytes);
      return await repository.writeLocked(seen, 'config', bytes, { mode: mode & 0o7777, uid, gid });
    } catch (error) {
      if (systemCode(error) === 'EEXIST') {
        const lock = `${repository.path}/config.lock`;
        throw new SoftquotaError('conflict', `another program is changing the configuration: ${lock} exists`);
      }
      if (!(error instanceof ChangedMeanwhile) || attempt === mostAttempts) throw error;
    }
  }
}

/**
 * Writes the settings where no socket is set yet: one that somebody chose for this repository stays. A
 * configuration that has none of ours gets them at its end, without starting git.
 */
export async function addSettings(
  repository: Folder,
  wanted: { readonly socket: string; readonly client: string | null },
): Promise<void> {
  const before = await configOf(repository);
  if (namesSocket(before.bytes.toString('latin1'))) return;
  if (/softquota|include/i.test(before.bytes.toString('latin1')) || !isPlain(wanted.socket)) {
    const { socket, client } = await readSettings(repository);
    if (socket !== null) return;
    const isFree = client === null && wanted.client !== null;
    await writeSettings(repository, { socket: wanted.socket, ...(isFree && { client: wanted.client }) });
    return;
  }
  await changeConfig(repository, bytes => {
    const end = bytes.length === 0 || bytes.at(-1) === newline ? '' : '\n';
    const client = wanted.client === null ? '' : `\tclient = ${wanted.client}\n`;
    return Buffer.concat([bytes, Buffer.from(`${end}[softquota]\n\tsocket = ${wanted.socket}\n${client}`)]);
  });
}

const newline = 0x0a;

/** Tells whether the section stands there as git and we write it, once, so that git need not be asked. */
function namesSocket(config: string): boolean {
  const [, section, more] = config.split(/^\[softquota\]\n/m);
  if (section === undefined || more !== undefined) return false;
  return /^\tsocket = \S/m.test(section.split(/^\[/m)[0] ?? '');
}

/** Tells whether git reads such a value as it is written. */
function isPlain(value: string): boolean {
  return /^[\w./@%+=:,~-]+$/.test(value);
}

/** The repository's config file; rejects with `conflict` where it is none. */
export async function configOf(repository: Folder) {
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
  const { status, output, complaint }: Ended = await runProgram('git', args, {
    ...options,
    env,
    timeoutMs: gitMs,
  });
  if (status === 0 || status === 1 || status === 5) return output;
  throw new SoftquotaError('conflict', `git ${args[0]}: ${complaint || `ended with ${status}`}`);
}
