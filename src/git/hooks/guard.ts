/**
 * Guards one repository after the other, as often as somebody likes to look: what is in place costs some
 * looks at the disk and starts no program.
 */

import { isGone } from '../worker/files.ts';
import { Folder } from './folder.ts';
import { gitlabEvidence, gitlabWords } from './gitlab.ts';
import { folderFile } from './hook.ts';
import { runFolder, statesIn } from './inspect.ts';
import { installInto, type WantedSettings } from './install.ts';
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

/**
 * Puts in what is missing, and replaces what is of another version; the settings of hooks in place stay.
 * `isForge`: other repositories beside it are a forge's. A fault is a value. Nothing is written through a
 * link, nor into a repository of another user.
 */
export async function guardRepository(
  path: string,
  isForge: boolean,
  options: WantedSettings,
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
  options: WantedSettings,
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
  // Hooks on a file system without exec are in place, although git cannot run them.
  const put = hooks.some(({ did }) => did !== 'unchanged');
  const skipped = put ? hooks.filter(hook => hook.skipped) : [];
  return {
    isGuarded: true,
    why: null,
    put,
    isForge: isAnyInFolder(hooks.map(({ file }) => file)),
    skipped: skipped.map(({ file, previous }) => previous ?? file),
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
