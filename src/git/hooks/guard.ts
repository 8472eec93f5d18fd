/**
 * Guards one repository after the other, as often as somebody likes to look: what is in place costs some
 * looks at the disk and starts no program.
 */

import { lstat } from 'node:fs/promises';
import { encodePath } from '../../layout/index.ts';
import { isGone } from '../worker/files.ts';
import { Folder } from './folder.ts';
import { gitlabEvidence, gitlabWords } from './gitlab.ts';
import { folderFile, hookNames } from './hook.ts';
import { runFolder, statesIn } from './inspect.ts';
import { type InstallOptions, installInto } from './install.ts';
import { reasonOf } from './reason.ts';

/** The outcome of looking after a repository. */
interface Guarded {
  readonly isGuarded: boolean;
  /** Why it is not guarded; null: it is, or it is no repository yet. */
  readonly why: string | null;
  /** Tells whether hooks had to be put in. */
  readonly put: boolean;
  /** Tells whether it is of Gitea or Forgejo. */
  readonly isForge: boolean;
  /** Files of hooks, just moved, that do not run because they are not executable. */
  readonly skipped: readonly string[];
}

const unguarded: Guarded = { isGuarded: false, why: null, put: false, isForge: false, skipped: [] };

/** The files that change when something changes about the hooks of a repository. */
const watchedFiles = [
  'hooks',
  ...hookNames.flatMap(name => [`hooks/${name}`, `hooks/${name}.d/${folderFile}`]),
  'hooks/pre-receive.d',
  'custom_hooks',
  ...hookNames.map(name => `custom_hooks/${name}`),
  'HEAD',
];

/** A text that stays the same as long as nobody touches the hooks; null where there is no such directory. */
export async function hooksSignature(repository: string): Promise<string | null> {
  const parts: string[] = [];
  for (const file of watchedFiles) {
    try {
      const { ino, ctimeMs } = await lstat(encodePath(`${repository}/${file}`));
      // Only that there is a HEAD counts.
      parts.push(file === 'HEAD' ? '+' : `${ino} ${ctimeMs}`);
    } catch (error) {
      if (!isGone(error)) throw error;
      parts.push('-');
    }
  }
  return parts.every(part => part === '-') ? null : parts.join(',');
}

/**
 * Puts in what is missing, and replaces what is of another version; the settings of hooks in place stay.
 * `isForge`: other repositories beside it are a forge's. A fault is a value. Nothing is written through a
 * link, nor into a repository of another user.
 */
export async function guardRepository(
  path: string,
  isForge: boolean,
  options: InstallOptions,
): Promise<Guarded> {
  try {
    await using repository = await Folder.open(path);
    return await guardIn(repository, path, isForge, options);
  } catch (error) {
    return isGone(error) ? unguarded : { ...unguarded, why: reasonOf(error) };
  }
}

async function guardIn(
  repository: Folder,
  path: string,
  isForge: boolean,
  options: InstallOptions,
): Promise<Guarded> {
  if (['HEAD', 'objects', 'refs'].some(name => repository.entry(name).kind === 'absent')) return unguarded;
  const uid = process.geteuid?.() ?? -1;
  if (repository.stats.uid !== uid) {
    const why = `it belongs to the user ${repository.stats.uid}, and the worker runs as ${uid}`;
    return { ...unguarded, why };
  }
  const gitlab = gitlabEvidence(path, null);
  if (gitlab !== null) return { ...unguarded, why: gitlabWords(gitlab) };
  const before = await filesOfGuarded(repository);
  if (before !== null) return { ...unguarded, isGuarded: true, isForge: isAnyInFolder(before) };
  const hooks = Object.values(await installInto(repository, options, isForge));
  return {
    isGuarded: true,
    why: null,
    put: true,
    isForge: isAnyInFolder(hooks.map(({ file }) => file)),
    skipped: hooks.flatMap(hook => (hook.skipped ? [hook.previous ?? hook.file] : [])),
  };
}

/** The files of both hooks where git runs this version's; null where it does not. */
async function filesOfGuarded(repository: Folder): Promise<readonly string[] | null> {
  await using hooks = await runFolder(repository);
  if (hooks === null) return null;
  const states = Object.values(await statesIn(hooks));
  if (states.some(({ state }) => state !== 'ours')) return null;
  return states.flatMap(({ file }) => file ?? []);
}

function isAnyInFolder(files: readonly string[]): boolean {
  return files.some(file => file.endsWith(`/${folderFile}`));
}
