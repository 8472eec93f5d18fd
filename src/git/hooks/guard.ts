/**
 * Guarding one repository after the other, as often as somebody likes to look: what is in place costs some
 * looks at the disk and starts no program.
 */

import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { systemCode } from '../../errors.ts';
import { encodePath, lookAt } from '../../layout/index.ts';
import { type Client, findClient } from './client.ts';
import { Folder } from './folder.ts';
import type { HookSettings } from './future.ts';
import { gitlabEvidence, gitlabWords } from './gitlab.ts';
import { folderFile, hookNames } from './hook.ts';
import { stateThrough } from './inspect.ts';
import { installInto } from './install.ts';
import { reasonOf } from './reason.ts';
import { runFolder } from './run-folder.ts';
import { addSettings, hookConfPath, readHookConf } from './settings.ts';
import { type SharedPlace, StubChoice, writeShared } from './shared.ts';

export interface GuardOptions {
  /** Absolute path of the gate's socket. */
  readonly socket: string;
  /** Where the stubs find the hooks; the package's own directory unless given. */
  readonly shared?: SharedPlace;
  readonly client?: Client;
  /** Instead of /etc/softquota/hook.conf. */
  readonly hookConf?: string;
}

/** How a repository stands after somebody looked after it. */
export interface Guarded {
  /** `not-yet`: it is no repository yet, or git is about to write its configuration. */
  readonly is: 'guarded' | 'not-yet' | 'fault';
  /** Tells whether hooks had to be put in. */
  readonly put: boolean;
  /** Tells whether it is of Gitea or Forgejo. */
  readonly isForge: boolean;
  /** Why it is not guarded. */
  readonly why: string | null;
  /** Files of hooks, just moved, that do not run because they are not executable. */
  readonly skipped?: readonly string[];
}

/**
 * git writes the configuration of a new repository some times in a row, and fails where somebody has its
 * lock.
 */
const quietMs = 200;
/** A repository that has no configuration after that time does not get one any more. */
const unfinishedMs = 60_000;

/** What says that something became another with the hooks of a repository. */
const watchedFiles = [
  'config',
  'hooks',
  ...hookNames.flatMap(name => [`hooks/${name}`, `hooks/${name}.d/${folderFile}`]),
  'hooks/pre-receive.d',
  'custom_hooks',
  ...hookNames.map(name => `custom_hooks/${name}`),
];

/** A text that stays the same as long as nobody touches the hooks; null where there is no such directory. */
export async function hooksSignature(repository: string): Promise<string | null> {
  return lookAt(repository, async () => {
    const parts: string[] = [];
    for (const file of watchedFiles) {
      try {
        const { ino, ctimeMs } = await lstat(encodePath(`${repository}/${file}`));
        parts.push(`${ino} ${ctimeMs}`);
      } catch (error) {
        if (!isAbsent(error)) throw error;
        parts.push('-');
      }
    }
    return parts[0] === '-' && parts[1] === '-' ? null : parts.join(',');
  });
}

export class Guard {
  readonly #settings: HookSettings;
  readonly #choice: StubChoice;
  readonly #hookConf: string;
  readonly #shared: SharedPlace | undefined;

  private constructor(settings: HookSettings, { shared, hookConf }: GuardOptions) {
    this.#settings = settings;
    this.#choice = new StubChoice(shared);
    this.#shared = shared;
    this.#hookConf = hookConf ?? hookConfPath;
  }

  static async open(options: GuardOptions): Promise<Guard> {
    const client = options.client ?? (await findClient());
    return new Guard({ socket: options.socket, client: client === 'curl' ? null : client }, options);
  }

  /**
   * Writes the file that all stubs run again, where that was taken away or changed, and looks again who can
   * have stubs. The package's own stays as it is. Rejects where it cannot be written.
   */
  async keepShared(): Promise<void> {
    this.#choice.forget();
    if (this.#shared !== undefined && this.#shared !== 'none') await writeShared(this.#shared);
  }

  /**
   * Puts in what is missing. `isForge`: other repositories beside it are a forge's. A fault is a value.
   * Nothing is written through a link, nor into a repository of another user.
   */
  async guard(path: string, isForge: boolean): Promise<Guarded> {
    try {
      const repository = await Folder.open(path);
      try {
        return await this.#guardIn(repository, path, isForge);
      } finally {
        await repository.close();
      }
    } catch (error) {
      if (isAbsent(error)) return { is: 'not-yet', put: false, isForge: false, why: null };
      return { is: 'fault', put: false, isForge: false, why: reasonOf(error) };
    }
  }

  async #guardIn(repository: Folder, path: string, isForge: boolean): Promise<Guarded> {
    const notYet: Guarded = { is: 'not-yet', put: false, isForge: false, why: null };
    if (!isRepository(repository)) return notYet;
    const uid = process.geteuid?.() ?? -1;
    if (repository.stats.uid !== uid) {
      const why = `it belongs to the user ${repository.stats.uid}, and the worker runs as ${uid}`;
      return { is: 'fault', put: false, isForge: false, why };
    }
    const gitlab = gitlabEvidence(path, null);
    if (gitlab !== null) return { is: 'fault', put: false, isForge: false, why: gitlabWords(gitlab) };
    const before = await isGuardedBy(repository);
    let inForge = before.inFolder;
    let skipped: readonly string[] = [];
    if (!before.isGuarded) {
      const hooks = await installInto(repository, await this.#choice.contentsFor(uid), isForge);
      skipped = Object.values(hooks).flatMap(hook => (hook.skipped ? [hook.previous ?? hook.file] : []));
      inForge = hooks['pre-receive'].file.endsWith(`/${folderFile}`);
    }
    const done = { put: !before.isGuarded, isForge: inForge, why: null, skipped };
    // Where it is, it counts instead.
    if (readHookConf(this.#hookConf) !== null) return { is: 'guarded', ...done };
    if (!isQuiet(repository)) return { is: 'not-yet', ...done };
    await addSettings(repository, this.#settings);
    return { is: 'guarded', ...done };
  }
}

/**
 * Tells whether git has written the configuration; also where it never will, which adding the settings then
 * names.
 */
function isQuiet(repository: Folder): boolean {
  // A clock that was wrong may have left a time in the future.
  const age = ({ mtimeMs }: Stats) => Math.abs(Date.now() - mtimeMs);
  const config = repository.entry('config');
  if (config.kind === 'file') return age(config.stats) >= quietMs;
  return config.kind !== 'absent' || age(repository.stats) >= unfinishedMs;
}

/**
 * Tells whether git runs hooks of this version there, and whether out of a folder that a forge's hook runs.
 */
async function isGuardedBy(repository: Folder): Promise<{ isGuarded: boolean; inFolder: boolean }> {
  const hooks = await runFolder(repository);
  if (hooks === null) return { isGuarded: false, inFolder: false };
  try {
    const states = [];
    for (const name of hookNames) states.push(await stateThrough(hooks, name));
    return {
      isGuarded: states.every(state => state.state === 'installed' && state.current),
      inFolder: states.some(state => state.state === 'installed' && state.file.endsWith(`/${folderFile}`)),
    };
  } finally {
    await hooks.close();
  }
}

function isRepository(repository: Folder): boolean {
  return (
    repository.entry('HEAD').kind !== 'absent' &&
    repository.entry('objects').kind !== 'absent' &&
    repository.entry('refs').kind !== 'absent'
  );
}

function isAbsent(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
