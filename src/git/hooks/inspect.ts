/** How things stand with one hook of one repository. */

import type { BoundedFile } from '../../bounded/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { Folder } from './folder.ts';
import {
  customFolder,
  folderFile,
  type HookName,
  isOfGogs,
  isOurs,
  packagedHook,
  previousFile,
  runsFolder,
} from './hook.ts';
import { isCurrentStub, stubIn } from './shared.ts';

type InstalledState = Extract<HookState, { readonly state: 'installed' }>;

export type HookState =
  /** The repository has no such hook. */
  | { readonly state: 'absent' }
  /** Another hook is there, and ours is not. */
  | { readonly state: 'other' }
  | {
      readonly state: 'installed';
      /** Where ours lies, below the repository. */
      readonly file: string;
      /**
       * Tells whether it is this version's, and executable: git passes over one that is not. Of a stub, also
       * whether the file that it runs is there and this version's.
       */
      readonly current: boolean;
      /** The file that it runs, if it is a stub, and whether the stub itself is this version's. */
      readonly stub: { readonly runs: string; readonly current: boolean } | null;
      /** Tells whether a hook that was there before goes on as `hooks/NAME.d/50-previous`. */
      readonly previous: boolean;
      /** Tells whether that hook is not executable, so that it does not run. */
      readonly skipped: boolean;
    };

/** The files in `hooks` under one hook's names. */
export interface HookPlace {
  readonly name: HookName;
  /** The name of the directory: `hooks`, or `custom_hooks`. */
  readonly below: string;
  /** hooks/NAME */
  readonly main: BoundedFile;
  /** Tells whether hooks/NAME is another's, and runs hooks/NAME.d itself. */
  readonly delegates: boolean;
  /**
   * Tells whether the repository is Gitea's or Forgejo's, whose hook replaces hooks/NAME and runs
   * hooks/NAME.d.
   */
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
export async function inspectPlace(hooks: Folder, name: HookName, isForge = false): Promise<HookPlace> {
  const main = hooks.entry(name);
  mustBeFile(main, `${hooks.path}/${name}`);
  const folder = await hooks.directory(`${name}.d`);
  try {
    const inFolder = folder?.entry(folderFile) ?? { kind: 'absent' };
    const previous = folder?.entry(previousFile) ?? { kind: 'absent' };
    mustBeFile(inFolder, `${hooks.path}/${name}.d/${folderFile}`);
    mustBeFile(previous, `${hooks.path}/${name}.d/${previousFile}`);
    return placeWith(name, hooks, { main, folder, inFolder, previous }, isForge);
  } catch (error) {
    await folder?.close();
    throw error;
  }
}

type SeenFiles = Pick<HookPlace, 'main' | 'folder' | 'inFolder' | 'previous'>;

function placeWith(name: HookName, hooks: Folder, seen: SeenFiles, isKnownForge = false): HookPlace {
  const delegates = runsItself(name, seen.main);
  return { name, below: belowOf(hooks), ...seen, delegates, isForge: isOfForge(name, seen, isKnownForge) };
}

/**
 * Ours in the folder may be from the template of a forge that has not written its own hooks yet. Where
 * another hook is in the place of the forge's, nothing replaces it.
 */
function isOfForge(name: HookName, { main, folder, inFolder }: SeenFiles, isKnown: boolean): boolean {
  if (main.kind === 'file' && !isOurEntry(name, main)) return runsItself(name, main);
  return isKnown || isOurEntry(name, inFolder) || folder?.entry(forgeFile).kind === 'file';
}

/** The directory of hooks below a repository, also where gitolite links it there. */
function belowOf(hooks: Folder): string {
  return hooks.path.endsWith(`/${customFolder}`) ? customFolder : 'hooks';
}

/**
 * Tells whether the hooks there are those of Gogs, which runs ours out of `custom_hooks`. For looking only.
 */
export function isGogs(hooks: Folder): boolean {
  const entry = hooks.entry('pre-receive');
  return entry.kind === 'file' && isOfGogs('pre-receive', entry.bytes);
}

function mustBeFile(entry: BoundedFile, path: string): void {
  if (entry.kind === 'file' || entry.kind === 'absent') return;
  const what =
    entry.kind === 'link' ? 'a symbolic link, and nothing is written through a link' : 'not a regular file';
  throw new SoftquotaError('conflict', `${path} is ${what}`);
}

/** How one hook stands, also where it, or its folder, is a link: what git would run. For looking only. */
export async function stateThrough(hooks: Folder, name: HookName): Promise<HookState> {
  const place = await placeThrough(hooks, name);
  try {
    return stateOf(place);
  } finally {
    await place.folder?.close();
  }
}

async function placeThrough(hooks: Folder, name: HookName): Promise<HookPlace> {
  const folder = await folderThrough(hooks, `${name}.d`);
  try {
    const entryOf = async (where: Folder | null, file: string) => {
      const entry = where?.entry(file) ?? { kind: 'absent' };
      if (entry.kind !== 'link' || where === null) return entry;
      const aim = await where.linked(file);
      if (!(aim instanceof Folder)) return aim ?? { kind: 'absent' };
      await aim.close();
      return { kind: 'directory' } as const;
    };
    const main = await entryOf(hooks, name);
    const inFolder = await entryOf(folder, folderFile);
    const previous = await entryOf(folder, previousFile);
    return placeWith(name, hooks, { main, folder, inFolder, previous });
  } catch (error) {
    await folder?.close();
    throw error;
  }
}

async function folderThrough(hooks: Folder, name: string): Promise<Folder | null> {
  const entry = hooks.entry(name);
  if (entry.kind === 'directory') return hooks.directory(name);
  if (entry.kind !== 'link') return null;
  const aim = await hooks.linked(name);
  return aim instanceof Folder ? aim : null;
}

/** Tells whether this is another's hook that runs hooks/NAME.d by itself. */
function runsItself(name: HookName, main: BoundedFile): boolean {
  return (
    main.kind === 'file' && isExecutable(main) && !isOurs(name, main.bytes) && runsFolder(name, main.bytes)
  );
}

export function stateOf(place: HookPlace): HookState {
  const { name, main, delegates, inFolder, previous } = place;
  const installed = (file: string, entry: BoundedFile): InstalledState => ({
    state: 'installed',
    file,
    current: isCurrent(name, entry),
    stub: entry.kind === 'file' ? stubIn(name, entry.bytes) : null,
    previous: previous.kind === 'file' && !delegates,
    skipped: !delegates && isSkipped(previous),
  });
  const runsFolderFile = delegates || isOurEntry(name, main);
  if (runsFolderFile && isOurEntry(name, inFolder)) {
    const state = installed(`${place.below}/${name}.d/${folderFile}`, inFolder);
    return delegates ? state : { ...state, current: state.current && isCurrent(name, main) };
  }
  if (isOurEntry(name, main)) return installed(`${place.below}/${name}`, main);
  return { state: main.kind === 'file' ? 'other' : 'absent' };
}

export function isOurEntry(name: HookName, entry: BoundedFile): boolean {
  return entry.kind === 'file' && isOurs(name, entry.bytes);
}

/** Tells whether it is this version's hook or stub, byte by byte, and git would run it. */
export function isCurrent(name: HookName, entry: BoundedFile): boolean {
  return entry.kind === 'file' && entry.whole && isExecutable(entry) && isThisVersion(name, entry.bytes);
}

/** Tells whether these are the bytes of this version's hook, or of a stub that runs it. */
export function isThisVersion(name: HookName, content: Buffer): boolean {
  return content.equals(packagedHook(name)) || isCurrentStub(name, content);
}

/** Tells whether it has these bytes, and git would run it. */
export function isInPlace(content: Buffer, entry: BoundedFile): boolean {
  return entry.kind === 'file' && entry.whole && isExecutable(entry) && entry.bytes.equals(content);
}

/** Tells whether it is a hook that git passes over. */
export function isSkipped(entry: BoundedFile): boolean {
  return entry.kind === 'file' && !isExecutable(entry);
}

function isExecutable(entry: BoundedFile & { kind: 'file' }): boolean {
  return (entry.stats.mode & 0o100) !== 0;
}
