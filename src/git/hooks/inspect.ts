/** Tells which hooks repositories have, and whether git runs them. */

import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type SystemAccount, systemAccounts } from '../../accounts.ts';
import { type BoundedFile, readBounded } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { beforeFollow, encodePath, noexecMountAt, saysHangs } from '../../layout/index.ts';
import { shellQuoted } from '../../text.ts';
import { type ConfigFacts, configSetting, readFacts } from './config.ts';
import { Folder, inEach, type RepositoryFault } from './folder.ts';
import {
  customFolder,
  filled,
  folderFile,
  type HookName,
  type HookSettings,
  hookNames,
  isOurs,
  previousFile,
  settingsIn,
} from './hook.ts';

/** `older`: a hook of ours of another version, or one without its settings. */
type HookStanding = 'absent' | 'ours' | 'older' | 'foreign' | 'blocked';

export interface HookState {
  readonly state: HookStanding;
  /** The hook's file below the repository; null if there is none. */
  readonly file: string | null;
  /** Why git cannot run the hook; null if it can. */
  readonly blocked: string | null;
  /** Null: the hook has none, as in older versions. */
  readonly settings: HookSettings | null;
  /** A hook that was there before and does not run, because it is not executable. */
  readonly skipped: string | null;
}

const absentHook: HookState = { state: 'absent', file: null, blocked: null, settings: null, skipped: null };

const absentHooks: Readonly<Record<HookName, HookState>> = {
  'pre-receive': absentHook,
  'post-receive': absentHook,
};

/** The files in `hooks` under one hook's names. */
export interface HookPlace extends AsyncDisposable {
  readonly hooks: Folder;
  readonly name: HookName;
  /** The name of the directory: `hooks`, or `custom_hooks`. */
  readonly below: string;
  readonly main: BoundedFile;
  /** hooks/NAME itself, which may be a link to `main`. */
  readonly entry: BoundedFile;
  /** Tells whether hooks/NAME is a foreign hook that runs hooks/NAME.d itself. */
  readonly delegates: boolean;
  /** Tells whether the repository is of a forge whose hook replaces hooks/NAME and runs hooks/NAME.d. */
  readonly isForge: boolean;
  /** hooks/NAME.d, held open; null if it does not exist. */
  readonly folder: Folder | null;
  readonly inFolder: BoundedFile;
  readonly previous: BoundedFile;
}

/** The file of Gitea or Forgejo in hooks/NAME.d. */
const forgeFile = 'gitea';

/**
 * Reads the files. Throws `conflict` for a special file, and for a link unless it leads to the hook of the
 * package, as in release 0.1, or links are followed, as git does. `isForge`: the repository is known to be a
 * forge's.
 */
export async function inspectPlace(
  hooks: Folder,
  name: HookName,
  { isFollowed = false, isForge = false } = {},
): Promise<HookPlace> {
  const look = isFollowed ? followedIn : fileIn;
  const lookForOurs: typeof look = (where, file) => packagedAt(name, where, file) ?? look(where, file);
  const entry = hooks.entry(name);
  const main = lookForOurs(hooks, name);
  const folder = await (isFollowed ? folderThrough(hooks, `${name}.d`) : hooks.directory(`${name}.d`));
  const close = async (): Promise<void> => folder?.close();
  try {
    const inFolder = lookForOurs(folder, folderFile);
    const previous = look(folder, previousFile);
    const below = hooks.path.endsWith(`/${customFolder}`) ? customFolder : 'hooks';
    const delegates = runsFolder(name, main);
    const isForeign = main.kind === 'file' && !isOurs(name, main);
    // Our hook in the folder may be from the template of a forge that has not written its own hooks yet.
    const isForgeNow = isForge || isOurs(name, inFolder) || folder?.entry(forgeFile).kind === 'file';
    return {
      ...{ hooks, name, below, entry, main, folder, inFolder, previous, delegates },
      isForge: isForeign ? delegates : isForgeNow,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const absent: BoundedFile = { kind: 'absent' };

/** Tells whether the hooks there are those of Gogs, which runs ours out of `custom_hooks`. */
export function isGogs(hooks: Folder): boolean {
  const [name] = hookNames;
  const entry = hooks.entry(name);
  if (entry.kind !== 'file' || isOurs(name, entry) || namesFolder(name, entry.bytes)) return false;
  return /\bhook --config=/.test(entry.bytes.toString('latin1'));
}

/** The folder's name built from the hook's own: ${hookname}.d/, $(basename $0).d/, ${0##*\/}.d/. */
const builtName = /\$(?:\w{1,100}|\{\w{1,100}\}|\([^()]{0,100}\)|\{0##\*\/\})"?\.d\//g;
const literalName = /(?:pre|post)-receive\.d(?![\w.-])/g;

/** Tells whether this is a foreign hook that runs the folder `NAME.d` itself, as hooks of forges do. */
function runsFolder(name: HookName, entry: BoundedFile): boolean {
  const isForeign = entry.kind === 'file' && isExecutable(entry) && !isOurs(name, entry);
  return isForeign && namesFolder(name, entry.bytes);
}

/**
 * Tells whether a script names its folder `NAME.d`, and not one of that name in another place. If a hook that
 * runs its folder were moved there, it would run itself.
 */
function namesFolder(name: HookName, content: Buffer): boolean {
  const lines = content.toString('latin1').split('\n');
  return lines.some(line => {
    if (/^\s*#/.test(line) || (/^\s*(?:echo|printf|logger)\b/.test(line) && !line.includes('.d/')))
      return false;
    const named = [...line.matchAll(literalName)].filter(([found]) => found.startsWith(name));
    return [...named, ...line.matchAll(builtName)].some(({ index }) =>
      isOwnPlace(line.slice(Math.max(0, index - longestPlace), index)),
    );
  });
}

const longestPlace = 300;

/** Tells whether what stands before the folder's name in its word is no absolute path of another place. */
function isOwnPlace(before: string): boolean {
  const [place = ''] = before.split(/[\s=(;:]/).slice(-1);
  const path = place.replaceAll(/["']/g, '');
  return !/^(?:~|\$\{?HOME\}?)?\//.test(path) || path.endsWith('/hooks/');
}

/** Tells whether the owner may execute the file; git skips a hook that its user may not execute. */
function isExecutable({ stats }: BoundedFile & { kind: 'file' }): boolean {
  return (stats.mode & 0o100) !== 0;
}

export function isSkipped(entry: BoundedFile): boolean {
  return entry.kind === 'file' && !isExecutable(entry);
}

/** Opens the directory with our hooks: `custom_hooks` for Gogs, else `hooks`; null if it does not exist. */
export async function runFolder(repository: Folder): Promise<Folder | null> {
  const hooks = await repository.directory('hooks');
  if (hooks === null || !isGogs(hooks)) return hooks;
  await hooks.close();
  return repository.directory(customFolder);
}

/** Returns the hook of the package, which has no settings, if a link leads there; else null. */
function packagedAt(name: HookName, where: Folder | null, file: string): BoundedFile | null {
  const aim = where?.entry(file).kind === 'link' ? where.followed(file) : absent;
  return isOurs(name, aim) && settingsIn(aim.bytes) === null ? aim : null;
}

function followedIn(where: Folder | null, file: string): BoundedFile {
  return where?.followed(file) ?? absent;
}

function fileIn(where: Folder | null, file: string): BoundedFile {
  const entry = where?.entry(file) ?? absent;
  if (entry.kind === 'file' || entry.kind === 'absent') return entry;
  const what =
    entry.kind === 'link' ? 'a symbolic link, and nothing is written through a link' : 'not a regular file';
  throw new SoftquotaError('conflict', `${where?.path}/${file} is ${what}`);
}

/**
 * Returns the states of both hooks in a folder; null: it does not exist. Links are followed, so these are the
 * hooks that git runs.
 */
export async function statesIn(hooks: Folder | null): Promise<Record<HookName, HookState>> {
  const states: Record<HookName, HookState> = { ...absentHooks };
  if (hooks === null) return states;
  for (const name of hookNames) {
    await using place = await inspectPlace(hooks, name, { isFollowed: true });
    states[name] = stateOf(place);
  }
  return states;
}

async function folderThrough(hooks: Folder, name: string): Promise<Folder | null> {
  const { kind } = hooks.entry(name);
  if (kind === 'directory') return hooks.directory(name);
  const leads = kind === 'link' && hooks.followed(name).kind === 'directory';
  return leads ? Folder.find(`${hooks.path}/${name}`) : null;
}

function stateOf(place: HookPlace): HookState {
  const { hooks, name, main, delegates, inFolder, previous, below } = place;
  const skipped = !delegates && isSkipped(previous) ? `${below}/${name}.d/${previousFile}` : null;
  const isInFolder = (delegates || isOurs(name, main)) && isOurs(name, inFolder);
  const mainFile = `${below}/${name}`;
  const file = isInFolder ? `${mainFile}.d/${folderFile}` : mainFile;
  const entry = isInFolder ? inFolder : main;
  if (!isOurs(name, entry)) {
    return main.kind === 'file' ? { ...absentHook, state: 'foreign', file } : absentHook;
  }
  const settings = settingsIn(entry.bytes);
  const isCurrent = isCurrentEntry(name, entry) && (!isInFolder || delegates || isCurrentEntry(name, main));
  // git runs `mainFile`, which runs `file`.
  for (const each of [mainFile, file]) {
    const blocked = blockedAt(`${hooks.path}${each.slice(below.length)}`);
    if (blocked !== null) return { state: 'blocked', file: each, blocked, settings, skipped };
  }
  return { state: isCurrent ? 'ours' : 'older', file, blocked: null, settings, skipped };
}

/** Tells whether a file is this version's hook with any settings, and executable. */
function isCurrentEntry(name: HookName, entry: BoundedFile): boolean {
  if (!isOurs(name, entry)) return false;
  const settings = settingsIn(entry.bytes);
  return settings !== null && isInPlace(filled(name, settings), entry);
}

/** Tells whether a file has exactly these bytes, and is executable. */
export function isInPlace(content: Buffer, entry: BoundedFile): boolean {
  return entry.kind === 'file' && entry.whole && isExecutable(entry) && entry.bytes.equals(content);
}

/** Returns why git cannot run this file, which it then skips silently; null if it can. */
export function blockedAt(path: string): string | null {
  const location = encodePath(path);
  if ((statSync(location).mode & 0o100) === 0) return 'it is not executable';
  try {
    accessSync(location, constants.X_OK);
    return null;
  } catch (error) {
    if (systemCode(error) !== 'EACCES') throw error;
    // With noexec nobody can run the file, not even root.
    const mount = noexecMountAt(path);
    if (mount === null) return 'its user may not reach it';
    return `its file system is mounted with noexec; mend: mount -o remount,exec ${shellQuoted(mount)}`;
  }
}

export interface HooksPath {
  readonly path: string;
  /** The file with the setting, or `the system's configuration`. */
  readonly from: string;
  readonly directory: string;
  /** Tells whether this version's hooks lie there, so that pushes are checked all the same. */
  readonly ours: boolean;
}

type Setting = Pick<HooksPath, 'path' | 'from'>;

const key = 'core.hooksPath';

/**
 * Returns a function that finds core.hooksPath as git does when the repository's owner runs it: in the
 * repository's configuration, the owner's two files, then the system's. Files that serve several repositories
 * are read once. The result is null if there is no setting, or it names the repository's own `hooks`.
 * `passwd` is the file with the homes of owners.
 */
export function hooksPathFinder(passwd = '/etc/passwd') {
  const ofOwners = new Map<number, Promise<Setting | null>>();
  let ofSystem: Promise<Setting | null> | undefined;

  return async (repository: Folder, facts: ConfigFacts): Promise<HooksPath | null> => {
    const { uid } = repository.stats;
    const owners = ofOwners.get(uid) ?? ofOwner(uid, passwd);
    ofOwners.set(uid, owners);
    ofSystem ??= settingOf(configSetting('system', key), "the system's configuration");
    const own =
      facts.hooksPath === null ? null : { path: facts.hooksPath, from: `${repository.path}/config` };
    const found = own ?? (await owners) ?? (await ofSystem);
    if (found === null) return null;
    const directory = directoryOf(found.path, repository, passwd);
    if (directory === join(repository.path, 'hooks')) return null;
    const ours = hookNames.every(name => isCurrentAt(name, join(directory, name)));
    return { ...found, directory, ours };
  };
}

/** Resolves the path from the repository, in which git runs hooks; `~/` is the owner's home. */
function directoryOf(path: string, repository: Folder, passwd: string): string {
  if (!path.startsWith('~/')) return resolve(repository.path, path);
  const home = accountOf(repository.stats.uid, passwd)?.home ?? '/';
  return resolve(home, path.slice(2));
}

function isCurrentAt(name: HookName, path: string): boolean {
  try {
    beforeFollow(path);
    return isCurrentEntry(name, readBounded(encodePath(path), { follow: true })) && blockedAt(path) === null;
  } catch {
    return false;
  }
}

/** Finds the account of a user id in a file like passwd(5), if it has a home. */
function accountOf(uid: number, passwd: string): SystemAccount | undefined {
  return systemAccounts(passwd).users.find(user => user.uid === uid && user.home !== '');
}

async function ofOwner(uid: number, passwd: string): Promise<Setting | null> {
  const account = accountOf(uid, passwd);
  if (account === undefined) return null;
  const { gid, home } = account;
  for (const file of [join(home, '.gitconfig'), join(home, '.config/git/config')]) {
    if (isNoFile(file)) continue;
    const found = await settingOf(configSetting({ file, owner: { uid, gid } }, key), file);
    if (found !== null) return found;
  }
  return null;
}

/** Tells whether git might wait forever there: for a pipe or the like, or for a disk that does not answer. */
function isNoFile(path: string): boolean {
  try {
    beforeFollow(path);
    return statSync(path, { throwIfNoEntry: false })?.isFile() === false;
  } catch (error) {
    return saysHangs(error); // any other error is left to git
  }
}

async function settingOf(value: Promise<string | null>, from: string): Promise<Setting | null> {
  const path = await value;
  return path ? { path, from } : null;
}

interface ReadStatus {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, HookState>>;
  /** The setting that has git run hooks from elsewhere; null if there is none. */
  readonly hooksPath: HooksPath | null;
  /** Tells whether the repository's own configuration asks clients for signed pushes. */
  readonly signedPushes: boolean;
  /** Why git never runs hooks in this repository; null if it does. */
  readonly gitlab: string | null;
}

export type RepositoryStatus = ReadStatus | RepositoryFault;

/** Tells whether this version's hooks check and report pushes to a repository. */
export function isProtected(status: RepositoryStatus): boolean {
  if ('fault' in status || status.gitlab !== null) return false;
  if (status.hooksPath !== null) return status.hooksPath.ours;
  return hookNames.every(name => status.hooks[name].state === 'ours');
}

export async function hooksStatus(repositories: readonly string[]): Promise<readonly RepositoryStatus[]> {
  const findHooksPath = hooksPathFinder();
  return inEach(repositories, async (repository, path): Promise<ReadStatus> => {
    const facts = readFacts(repository);
    await using hooks = await runFolder(repository);
    return {
      repository: path,
      hooks: await statesIn(hooks),
      hooksPath: await findHooksPath(repository, facts),
      signedPushes: facts.signedPushes,
      gitlab: ofGitlab(path, facts),
    };
  });
}

/** Names that Gitaly gives the directories above repositories. */
const directories = ['@hashed', '@groups', '@snippets', '@pools', '@cluster'];

/** Returns why hooks are useless in a GitLab repository, known by its path, or its configuration if given. */
export function ofGitlab(path: string, facts: ConfigFacts | null): string | null {
  const directory = path.split('/').find(name => directories.includes(name));
  const isNamed = facts !== null && facts.gitlabProject !== null;
  if (directory === undefined && !isNamed) return null;
  const evidence =
    directory === undefined
      ? 'its config has gitlab.fullpath; if GitLab no longer serves it, remove that'
      : `it is in ${directory}`;
  return `a GitLab repository (${evidence}): GitLab does not run its hooks, so no push is checked or refused, except by a global hook (docs/forges/hooks.md)`;
}
