/** The state of one hook of one repository. */

import { accessSync, constants } from 'node:fs';
import type { BoundedFile } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { encodePath } from '../../layout/index.ts';
import { Folder } from './folder.ts';
import { filled, type HookSettings, settingsIn } from './head.ts';
import {
  customFolder,
  folderFile,
  type HookName,
  hookNames,
  isExecutable,
  isOfGogs,
  isOurs,
  isSkipped,
  previousFile,
  runsFolder,
} from './hook.ts';

/** `older`: ours, of another version, or with a settings head that none or another installation wrote. */
type HookStanding = 'absent' | 'ours' | 'older' | 'foreign' | 'blocked';

export interface HookState {
  readonly state: HookStanding;
  /** The hook's file below the repository; null: there is none. */
  readonly file: string | null;
  /** Why git cannot run it; null where it can. */
  readonly blocked: string | null;
  /** Null: it has none, as a hook of another version. */
  readonly settings: HookSettings | null;
  /** A hook that was there before and does not run, because it is not executable. */
  readonly skipped: string | null;
}

export const absentHooks: Readonly<Record<HookName, HookState>> = {
  'pre-receive': { state: 'absent', file: null, blocked: null, settings: null, skipped: null },
  'post-receive': { state: 'absent', file: null, blocked: null, settings: null, skipped: null },
};

/** The files in `hooks` under one hook's names. */
export interface HookPlace extends AsyncDisposable {
  readonly name: HookName;
  /** The name of the directory: `hooks`, or `custom_hooks`. */
  readonly below: string;
  /** hooks/NAME */
  readonly main: BoundedFile;
  /** Tells whether hooks/NAME is another's, and runs hooks/NAME.d itself. */
  readonly delegates: boolean;
  /** Tells whether the repository is of a forge whose hook replaces hooks/NAME and runs hooks/NAME.d. */
  readonly isForge: boolean;
  /** hooks/NAME.d, held open; null where it is not. */
  readonly folder: Folder | null;
  readonly inFolder: BoundedFile;
  readonly previous: BoundedFile;
}

/** A file of Gitea or Forgejo in hooks/NAME.d. */
const forgeFile = 'gitea';

/**
 * Throws `conflict` where a link or something that is no hook is in the way. `isForge`: the repository is
 * known to be a forge's, also where nothing in it says so yet.
 */
export function inspectPlace(hooks: Folder, name: HookName, isForge = false): Promise<HookPlace> {
  return placeIn(hooks, name, false, isForge);
}

/** `isFollowed`: links are followed, as git does. */
async function placeIn(
  hooks: Folder,
  name: HookName,
  isFollowed: boolean,
  isKnownForge = false,
): Promise<HookPlace> {
  const look = isFollowed ? entryThrough : fileIn;
  const main = await look(hooks, name);
  const folder = await (isFollowed ? folderThrough(hooks, `${name}.d`) : hooks.directory(`${name}.d`));
  try {
    const inFolder = await look(folder, folderFile);
    const previous = await look(folder, previousFile);
    const below = hooks.path.endsWith(`/${customFolder}`) ? customFolder : 'hooks';
    const delegates = runsFolder(name, main);
    const seen = { name, below, main, folder, inFolder, previous, delegates };
    const close = async (): Promise<void> => folder?.close();
    return { ...seen, isForge: isOfForge(seen, isKnownForge), [Symbol.asyncDispose]: close };
  } catch (error) {
    await folder?.close();
    throw error;
  }
}

const absent: BoundedFile = { kind: 'absent' };

/**
 * Ours in the folder may be from the template of a forge that has not written its own hooks yet. Where
 * another hook is in the place of the forge's, nothing replaces it.
 */
function isOfForge(
  { name, main, folder, inFolder, delegates }: Omit<HookPlace, 'isForge' | typeof Symbol.asyncDispose>,
  isKnown: boolean,
): boolean {
  if (main.kind === 'file' && !isOurs(name, main)) return delegates;
  return isKnown || isOurs(name, inFolder) || folder?.entry(forgeFile).kind === 'file';
}

/** Tells whether the hooks there are those of Gogs, which runs ours out of `custom_hooks`. */
export function isGogs(hooks: Folder): boolean {
  return isOfGogs('pre-receive', hooks.entry('pre-receive'));
}

/**
 * The directory of a repository whose hooks are ours to look after: Gogs runs `custom_hooks`. Null: not
 * there.
 */
export async function runFolder(repository: Folder): Promise<Folder | null> {
  const hooks = await repository.directory('hooks');
  if (hooks === null || !isGogs(hooks)) return hooks;
  await hooks.close();
  return repository.directory(customFolder);
}

async function fileIn(where: Folder | null, file: string): Promise<BoundedFile> {
  const entry = where?.entry(file) ?? absent;
  if (entry.kind === 'file' || entry.kind === 'absent') return entry;
  const what =
    entry.kind === 'link' ? 'a symbolic link, and nothing is written through a link' : 'not a regular file';
  throw new SoftquotaError('conflict', `${where?.path}/${file} is ${what}`);
}

/** The states of both hooks, also where one, or its folder, is a link: of what git would run. */
export async function statesIn(hooks: Folder): Promise<Record<HookName, HookState>> {
  const states: Record<HookName, HookState> = { ...absentHooks };
  for (const name of hookNames) {
    await using place = await placeIn(hooks, name, true);
    states[name] = stateOf(place, hooks);
  }
  return states;
}

async function entryThrough(where: Folder | null, file: string): Promise<BoundedFile> {
  const entry = where?.entry(file) ?? absent;
  if (entry.kind !== 'link' || where === null) return entry;
  const aim = await where.linked(file);
  if (!(aim instanceof Folder)) return aim ?? absent;
  await aim.close();
  return { kind: 'directory' };
}

async function folderThrough(hooks: Folder, name: string): Promise<Folder | null> {
  const entry = hooks.entry(name);
  if (entry.kind === 'directory') return hooks.directory(name);
  if (entry.kind !== 'link') return null;
  const aim = await hooks.linked(name);
  return aim instanceof Folder ? aim : null;
}

function stateOf(place: HookPlace, hooks: Folder): HookState {
  const { name, main, delegates, inFolder, previous, below } = place;
  const skipped = !delegates && isSkipped(previous) ? `${below}/${name}.d/${previousFile}` : null;
  const isInFolder = (delegates || isOurs(name, main)) && isOurs(name, inFolder);
  const file = isInFolder ? `${below}/${name}.d/${folderFile}` : `${below}/${name}`;
  const entry = isInFolder ? inFolder : main;
  if (!isOurs(name, entry)) {
    const state = main.kind === 'file' ? 'foreign' : 'absent';
    return { state, file: main.kind === 'file' ? file : null, blocked: null, settings: null, skipped: null };
  }
  const settings = settingsIn(entry.bytes);
  const isCurrent = isCurrentEntry(name, entry) && (!isInFolder || delegates || isCurrentEntry(name, main));
  const at = isInFolder ? `${hooks.path}/${name}.d/${folderFile}` : `${hooks.path}/${name}`;
  const blocked = blockedAt(entry, at);
  const state = blocked !== null ? 'blocked' : isCurrent ? 'ours' : 'older';
  return { state, file, blocked, settings, skipped };
}

/** Tells whether it is this version's hook with some settings, and git would run it. */
export function isCurrentEntry(name: HookName, entry: BoundedFile): boolean {
  if (!isOurs(name, entry)) return false;
  const settings = settingsIn(entry.bytes);
  return settings !== null && isInPlace(filled(name, settings), entry);
}

/** Tells whether it has these bytes, and git would run it. */
export function isInPlace(content: Buffer, entry: BoundedFile): boolean {
  return entry.kind === 'file' && entry.whole && isExecutable(entry) && entry.bytes.equals(content);
}

/** Returns why git cannot run this hook, so that it passes over it without a word; null where it can. */
function blockedAt(entry: BoundedFile & { kind: 'file' }, path: string): string | null {
  if (!isExecutable(entry)) return 'it is not executable';
  try {
    accessSync(encodePath(path), constants.X_OK);
    return null;
  } catch (error) {
    // The system lets nobody, root neither, run what lies on such a file system.
    if (systemCode(error) === 'EACCES')
      return 'its file system is mounted with noexec, or its user may not reach it';
    throw error;
  }
}
