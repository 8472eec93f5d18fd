/** Installs hooks into repositories, and removes them. */

import type { Stats } from 'node:fs';
import { SoftquotaError } from '../../errors.ts';
import { readFacts } from './config.ts';
import { belongingOf, ChangedMeanwhile, type Folder, inEach, type RepositoryFault } from './folder.ts';
import {
  customFolder,
  defaultSettings,
  filled,
  folderFile,
  type HookName,
  type HookSettings,
  hookNames,
  isOurs,
  previousFile,
  settingsIn,
} from './hook.ts';
import {
  blockedAt,
  type HookPlace,
  type HooksPath,
  hooksPathFinder,
  inspectPlace,
  isGogs,
  isInPlace,
  isSkipped,
  ofGitlab,
  statesIn,
} from './inspect.ts';

/** The settings to write. A policy that is not given stays as in the hook in place. */
export type WantedSettings = Pick<HookSettings, 'socket' | 'client'> & Partial<HookSettings>;

export interface InstalledHook {
  readonly did: 'installed' | 'updated' | 'unchanged';
  /** Our hook's file, below the repository. */
  readonly file: string;
  /** The file of the hook that was there before, below the repository; null if there was none. */
  readonly previous: string | null;
  /** Tells whether the previous hook is not executable, so that it does not run; git skipped it, too. */
  readonly skipped: boolean;
  /** Why git cannot run our hook; null if it can. */
  readonly blocked: string | null;
}

type PutHook = Omit<InstalledHook, 'blocked'>;

export type InstalledHooks = Readonly<Record<HookName, InstalledHook>>;

interface InstallDone {
  readonly repository: string;
  readonly hooks: InstalledHooks;
  readonly hooksPath: HooksPath | null;
}

export type InstallResult = InstallDone | RepositoryFault;

/**
 * Puts both hooks into each repository. A second call changes nothing; an older version of ours is replaced
 * in its place. A fault in one repository does not stop the others.
 */
export async function installHooks(
  repositories: readonly string[],
  options: WantedSettings,
): Promise<readonly InstallResult[]> {
  const findHooksPath = hooksPathFinder();
  return inEach(repositories, async (repository, path): Promise<InstallDone> => {
    const facts = readFacts(repository);
    const gitlab = ofGitlab(path, facts);
    if (gitlab !== null) throw new SoftquotaError('conflict', gitlab);
    const hooks = await installInto(repository, options);
    return { repository: path, hooks, hooksPath: await findHooksPath(repository, facts) };
  });
}

/** A forge writes a hook once or twice while it makes a repository. */
const mostAttempts = 5;

/** Puts both hooks into a repository; starts again if another program changes a file meanwhile. */
export async function installInto(
  repository: Folder,
  options: WantedSettings,
  isForge = false,
): Promise<InstalledHooks> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await installOnce(repository, { wanted: options, isForge });
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || attempt === mostAttempts) throw error;
    }
  }
}

interface Terms {
  readonly wanted: WantedSettings;
  readonly isForge?: boolean;
  /** Only into NAME.d, for a program such as Gitaly that runs these folders. */
  readonly onlyFolders?: boolean;
}

async function installOnce(repository: Folder, terms: Terms): Promise<InstalledHooks> {
  const belonging = belongingOf(repository.stats);
  await using hooks = await repository.directoryOrMade('hooks', belonging);
  if (!isGogs(hooks)) return (await linkedIn(hooks)) ?? (await installIn(hooks, terms));
  await using custom = await repository.directoryOrMade(customFolder, belonging);
  return await installIn(custom, terms);
}

/** Returns the hooks if both are links to this version's, as gitolite makes them; else null. */
async function linkedIn(hooks: Folder): Promise<InstalledHooks | null> {
  if (hookNames.some(name => hooks.entry(name).kind !== 'link')) return null;
  const states = await statesIn(hooks);
  if (hookNames.some(name => !['ours', 'blocked'].includes(states[name].state))) return null;
  return inEachHook(hooks, async name => ({
    did: 'unchanged',
    file: states[name].file ?? `hooks/${name}`,
    previous: states[name].skipped,
    skipped: states[name].skipped !== null,
  }));
}

async function inEachHook(hooks: Folder, put: (name: HookName) => Promise<PutHook>): Promise<InstalledHooks> {
  const putIn = async (name: HookName): Promise<InstalledHook> => {
    const done = await put(name);
    return { ...done, blocked: blockedAt(`${hooks.path}${done.file.slice(done.file.indexOf('/'))}`) };
  };
  return { 'pre-receive': await putIn('pre-receive'), 'post-receive': await putIn('post-receive') };
}

/**
 * Puts both hooks into a folder of hooks, a repository's or one that many repositories use. Both places are
 * checked before any is changed.
 */
export async function installIn(hooks: Folder, terms: Terms): Promise<InstalledHooks> {
  const { onlyFolders = false } = terms;
  for (const name of onlyFolders ? [] : hookNames) {
    await using place = await inspectPlace(hooks, name, terms);
    mustHaveRoomForPrevious(place);
  }
  return inEachHook(hooks, async name => {
    await using place = await inspectPlace(hooks, name, terms);
    return await (onlyFolders ? installInFolder : installAt)(place, terms);
  });
}

/** Tells whether a foreign hook at hooks/NAME has to be moved to make room for ours. */
export function givesWay({ name, main, delegates }: HookPlace): boolean {
  return main.kind === 'file' && !delegates && !isOurs(name, main);
}

function mustHaveRoomForPrevious(place: HookPlace): void {
  const { hooks, name, main, previous } = place;
  if (!givesWay(place) || main.kind !== 'file') return;
  if (!main.whole) {
    const message = `${hooks.path}/${name} is larger than 1 MiB: move it to ${name}.d/${previousFile}, where it keeps running, and run this again`;
    throw new SoftquotaError('conflict', message);
  }
  if (!isSkipped(main) && usesOwnPath(main.bytes)) {
    const message = `${hooks.path}/${name} finds files by its own path ($0), so it would not work at ${name}.d/${previousFile}: move it there, make it work there, and run this again`;
    throw new SoftquotaError('conflict', message);
  }
  if (previous.kind !== 'file') return;
  // An installation that was interrupted has left the same hook under both names.
  if (previous.whole && previous.bytes.equals(main.bytes)) return;
  throw new SoftquotaError(
    'conflict',
    `${hooks.path}/${name} and ${name}.d/${previousFile} are two different hooks, but only one can have this name: ` +
      `rename the hook in ${name}.d, so that it also keeps running, or remove it`,
  );
}

/** Tells whether a script finds files by the path or the name by which it was run. */
function usesOwnPath(content: Buffer): boolean {
  const script = content.toString('latin1');
  if (!script.startsWith('#!')) return false;
  return script.split('\n').some(line => !/^\s*#/.test(line) && ownPaths.some(pattern => pattern.test(line)));
}

const ownPaths = [
  // $(dirname "$0"), readlink -f "$0", ${0%/*}
  /\b(?:dirname|realpath|readlink)\s{1,9}(?:-\S{1,20}\s{1,9}){0,3}["']?\$\{?0\b/,
  /\$\{0%/,
  // case ${0##*/} in, /opt/hooks/$(basename "$0")
  /(?:\bcase\s{1,9}|\/)["']?(?:\$\{0##|\$\(basename\s{1,9}["']?\$\{?0\b)/,
  // bash, Python, Ruby and PHP, Perl
  /\b(?:BASH_SOURCE|__file__|__FILE__|__dir__|FindBin)\b/,
];

async function installAt(place: HookPlace, terms: Terms): Promise<PutHook> {
  const { hooks, name, below, main, delegates, inFolder, previous } = place;
  const inForge = place.isForge ? await installInFolder(place, terms) : null;
  if (inForge !== null && delegates) return inForge;
  const keepsPrevious = previous.kind === 'file' || givesWay(place);
  const kept = keepsPrevious ? `${below}/${name}.d/${previousFile}` : null;
  const skipped = isSkipped(givesWay(place) ? main : previous);
  const content = contentFor(place, terms);
  const unchanged = isInPlace(content, main);
  if (main.kind === 'file' && givesWay(place)) await keepPrevious(place, main.bytes, main.stats);
  try {
    if (!unchanged) await hooks.write(name, content, ownedLike(hooks), place.entry);
  } catch (error) {
    const isStillThere = error instanceof ChangedMeanwhile;
    if (isStillThere && givesWay(place) && previous.kind === 'absent') await forgetPrevious(place);
    throw error;
  }
  // Our file in the folder is left from a time when another hook ran the folder.
  if (inForge === null && isOurs(name, inFolder)) await place.folder?.remove(folderFile);
  const did = unchanged ? 'unchanged' : isOurs(name, main) ? 'updated' : 'installed';
  if (inForge !== null) return { ...inForge, did: unchanged ? inForge.did : did, previous: kept, skipped };
  return { did, file: `${below}/${name}`, previous: kept, skipped };
}

/** Returns the hook with the wanted settings; others come from the hook that it replaces. */
function contentFor({ name, main, inFolder }: HookPlace, { wanted }: Terms): Buffer {
  const present = [inFolder, main].find(entry => isOurs(name, entry));
  const written = present === undefined ? null : settingsIn(present.bytes);
  const { onError, lastFor } = { ...defaultSettings, ...written, ...wanted };
  return filled(name, { socket: wanted.socket, client: wanted.client, onError, lastFor });
}

/** Puts our hook into NAME.d, where another hook or Gitaly runs it and never removes it. */
async function installInFolder(place: HookPlace, terms: Terms): Promise<PutHook> {
  const { hooks, name, below, inFolder } = place;
  const file = `${below}/${name}.d/${folderFile}`;
  const content = contentFor(place, terms);
  if (isInPlace(content, inFolder)) return { did: 'unchanged', file, previous: null, skipped: false };
  await using folder = await hooks.directoryOrMade(`${name}.d`, belongingOf(hooks.stats));
  await folder.write(folderFile, content, ownedLike(hooks));
  return { did: isOurs(name, inFolder) ? 'updated' : 'installed', file, previous: null, skipped: false };
}

/** Copies the old hook to its new name before ours replaces it, so that it runs at every moment. */
async function keepPrevious({ hooks, name }: HookPlace, bytes: Buffer, stats: Stats): Promise<void> {
  await using folder = await hooks.directoryOrMade(`${name}.d`, belongingOf(hooks.stats));
  await folder.write(previousFile, bytes, belongingOf(stats));
}

/** Removes the copy of an old hook that is still in its place, where it may have changed. */
async function forgetPrevious({ hooks, name }: HookPlace): Promise<void> {
  await using folder = await hooks.directory(`${name}.d`);
  await folder?.remove(previousFile);
  await hooks.removeEmpty(`${name}.d`);
}

/** Permissions of a hook: users who may search the directory may run it, and only its owner may write it. */
export function ownedLike(hooks: Folder) {
  const { mode, uid, gid } = hooks.stats;
  return { mode: 0o700 | (mode & 0o010 ? 0o050 : 0) | (mode & 0o001 ? 0o005 : 0), uid, gid };
}

/** `restored`: our hook is removed, and the hook that was there before is back in its place. */
type RemovedHook = 'removed' | 'restored' | 'absent';

export const nothingRemoved = { 'pre-receive': 'absent', 'post-receive': 'absent' } as const;

interface RemoveDone {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, RemovedHook>>;
}

/** Undoes `installHooks`: a hook that was moved for ours returns; other foreign hooks are not touched. */
export async function removeHooks(
  repositories: readonly string[],
): Promise<readonly (RemoveDone | RepositoryFault)[]> {
  return inEach(repositories, async (repository, path): Promise<RemoveDone> => {
    const removed: Record<HookName, RemovedHook> = { ...nothingRemoved };
    for (const folder of ['hooks', customFolder]) {
      await using hooks = await repository.directory(folder);
      if (hooks === null) continue;
      const found = await removeFrom(hooks);
      for (const name of hookNames) if (found[name] !== 'absent') removed[name] = found[name];
      if (folder === customFolder) await repository.removeEmpty(folder);
    }
    return { repository: path, hooks: removed };
  });
}

export async function removeFrom(hooks: Folder): Promise<Record<HookName, RemovedHook>> {
  const removed: Record<HookName, RemovedHook> = { ...nothingRemoved };
  const states = await statesIn(hooks);
  for (const name of hookNames) {
    const isAnothers = states[name].state === 'foreign' || states[name].state === 'absent';
    if (!(isAnothers && hooks.entry(name).kind === 'link')) removed[name] = await removeAt(hooks, name);
  }
  return removed;
}

async function removeAt(hooks: Folder, name: HookName): Promise<RemovedHook> {
  const { main, inFolder, previous, ...place } = await inspectPlace(hooks, name);
  await using folder = place.folder;
  let removed: RemovedHook = 'absent';
  if (folder !== null && isOurs(name, inFolder)) {
    await folder.remove(folderFile);
    await hooks.removeEmpty(`${name}.d`);
    removed = 'removed';
  }
  if (!isOurs(name, main)) return removed;
  if (folder === null || previous.kind !== 'file') {
    await hooks.remove(name);
    return 'removed';
  }
  await folder.move(previousFile, hooks, name);
  await hooks.removeEmpty(`${name}.d`);
  return 'restored';
}
