/**
 * Checks what git would open in a repository before git does. Strangers may have put a link into another
 * repository there, a pipe that nobody writes to, a device, or an endless file; git follows and reads them
 * all.
 */

import { realpathSync } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { accountsIn, systemAccounts } from '../../../accounts.ts';
import { readBounded } from '../../../bounded/index.ts';
import { systemCode } from '../../../errors.ts';
import { decodePath, encodePath, isWithin, mountsNow } from '../../../layout/index.ts';
import { alternatesOf, CannotTell } from '../../../scan/index.ts';
import { directoryEntries, identity, isGone } from '../files.ts';
import { isShared, UnusableRepository } from './git.ts';

interface Rules {
  /** The device that directories have to be on. */
  readonly device: bigint;
  /** The user who has to own directories; null: anybody. */
  readonly owner: bigint | null;
  readonly mostBytes: bigint | null;
}

const mostRefBytes = 65_536n;
/** Most bytes of `packed-refs`, an index and the like, which git reads into memory. */
const mostOtherBytes = 268_435_456n;
const mostEntries = 4_000_000;
const atOnce = 64;
/** Entries of a worktree that git opens here; submodules and the like are not among them. */
const ofWorktree =
  /^(?:HEAD|index|sharedindex\..*|refs|reftable|commondir|gitdir|logs|rebase-apply|rebase-merge)$/;
const longestPath = 4096;

/**
 * Rejects with an `UnusableRepository` if git would open anything else than directories and files of the
 * repository, and of a push's quarantine. Resolves with the directories in which its objects lie.
 * `objectsPath`: see `objectsPathOf`.
 */
export async function mustBeUsable(
  path: string,
  quarantine: string | null,
  signal: AbortSignal,
  objectsPath = `${path}/objects`,
): Promise<readonly string[]> {
  await directoryAt(path, 'it');
  const objects = await directoryAt(objectsPath, '/objects');
  const refs = await directoryAt(`${path}/refs`, '/refs');
  const look = new Look(path, signal);
  const owner = isShared(path) ? null : objects.uid;
  const used = await look.objects(objectsPath, { device: objects.dev, owner, mostBytes: null });
  mustHaveNoMounts(objectsPath, false);
  await look.tree(`${path}/refs`, { device: refs.dev, owner: null, mostBytes: mostRefBytes });
  const others = { device: refs.dev, owner: null, mostBytes: mostOtherBytes };
  for (const name of ['reftable', 'packed-refs', 'shallow', 'index'])
    await look.entry(`${path}/${name}`, others);
  await look.worktrees(`${path}/worktrees`, others);
  await look.alternates(objectsPath);
  if (quarantine !== null) {
    await look.objects(quarantine, { device: objects.dev, owner: null, mostBytes: null });
    await look.alternates(quarantine);
  }
  return used;
}

/**
 * Throws an `UnusableRepository` if anything is mounted below a directory: it may be a folder of another
 * repository on the same device, in which git would delete. `itself`: nor may the directory be a mount.
 */
export function mustHaveNoMounts(directory: string, itself = true): void {
  const path = decodePath(realpathSync(encodePath(directory), { encoding: 'buffer' }));
  const mount = mountsNow().find(({ at }) => (itself || at !== path) && isWithin(at, path));
  if (mount !== undefined) throw new UnusableRepository(`another directory is mounted at ${mount.at}`);
}

/** Rejects with an `UnusableRepository` if one of these exists and is not a directory. */
export async function mustBePlain(directories: readonly string[]): Promise<void> {
  for (const path of directories) {
    const stats = await statusOf(path);
    if (stats !== null && !stats.isDirectory()) throw new UnusableRepository(`${path} is not a directory`);
  }
}

/**
 * Finds the first directory in which users other than this one and root may replace entries, among these
 * directories, all above them, and those in `used`; null if there is none.
 */
export async function writableByOthers(
  directories: readonly string[],
  used: readonly string[],
): Promise<string | null> {
  const above = new Set<string>();
  for (const directory of directories) {
    const parts = directory.split('/');
    for (const at of parts.keys()) above.add(parts.slice(0, at + 1).join('/') || '/');
  }
  for (const directory of [...above, ...used]) {
    const stats = await statusOf(directory);
    if (stats !== null && mayOthersWrite(stats)) return directory;
  }
  return null;
}

function mayOthersWrite({ mode, uid, gid }: Status): boolean {
  const bits = Number(mode);
  if (!isOwn(Number(uid))) return true;
  // In a sticky directory of root, such as /tmp, users may replace only their own entries.
  if ((bits & 0o1000) !== 0 && uid === 0n) return false;
  return (bits & 0o002) !== 0 || ((bits & 0o020) !== 0 && !isOwnGroup(Number(gid)));
}

function isOwn(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

/** Tells whether a group has no members but this user and root; an unknown group may have others. */
function isOwnGroup(gid: number): boolean {
  const accounts = systemAccounts();
  const members = accountsIn(new Set([gid]), accounts);
  const isKnown = (name: string) => members.some(member => member.name === name);
  const group = accounts.groups.find(each => each.gid === gid);
  return group?.members.every(isKnown) === true && members.every(({ uid }) => isOwn(uid));
}

type Status = NonNullable<Awaited<ReturnType<typeof statusOf>>>;

async function statusOf(path: string) {
  try {
    return await lstat(encodePath(path), { bigint: true });
  } catch (error) {
    if (isGone(error)) return null;
    throw unreadable(path, error);
  }
}

/** Turns an error of the system into an `UnusableRepository`; returns any other error. */
function unreadable(path: string, error: unknown): unknown {
  const code = systemCode(error);
  return code === null ? error : new UnusableRepository(`${path} cannot be looked at: ${code}`);
}

async function directoryAt(path: string, name: string): Promise<Status> {
  const stats = await statusOf(path);
  if (stats?.isDirectory() !== true) throw new UnusableRepository(`${name} is not a directory`);
  return stats;
}

/** One check of a repository, with a limit for the number of entries. */
class Look {
  readonly #repository: string;
  readonly #signal: AbortSignal;
  #left = mostEntries;

  constructor(repository: string, signal: AbortSignal) {
    this.#repository = repository;
    this.#signal = signal;
  }

  /** Checks a directory of objects; returns this directory and those with objects below it. */
  async objects(path: string, rules: Rules): Promise<readonly string[]> {
    const used = [path];
    for await (const { name } of this.#entries(path)) {
      if (name !== 'pack' && name !== 'info' && !/^[0-9a-f]{2}$/.test(name)) continue;
      const below = `${path}/${name}`;
      const stats = await statusOf(below);
      if (stats === null) continue;
      this.#mustBeDirectory(below, stats, rules);
      used.push(below);
      await this.tree(below, name === 'info' ? { ...rules, mostBytes: mostOtherBytes } : rules);
    }
    return used;
  }

  async tree(path: string, rules: Rules): Promise<void> {
    const others: string[] = [];
    const files: string[] = [];
    const lookAtFiles = () => Promise.all(files.splice(0).map(file => this.entry(file, rules)));
    for await (const { name, isFile } of this.#entries(path)) {
      if (!isFile) others.push(`${path}/${name}`);
      else if (rules.mostBytes !== null && files.push(`${path}/${name}`) === atOnce) await lookAtFiles();
    }
    await lookAtFiles();
    for (const other of others) await this.entry(other, rules);
  }

  async worktrees(path: string, rules: Rules): Promise<void> {
    const stats = await statusOf(path);
    if (stats === null) return;
    this.#mustBeDirectory(path, stats, rules);
    for await (const { name, isFile } of this.#entries(path))
      if (!isFile) await this.#worktree(`${path}/${name}`, rules);
  }

  async #worktree(path: string, rules: Rules): Promise<void> {
    const stats = await statusOf(path);
    if (stats === null) return;
    this.#mustBeDirectory(path, stats, rules);
    for await (const { name } of this.#entries(path))
      if (ofWorktree.test(name)) await this.entry(`${path}/${name}`, rules);
    // git uses refs of the repository that this file names.
    const common = readBounded(encodePath(`${path}/commondir`), { mostBytes: longestPath });
    if (common.kind !== 'file') return;
    const named = resolve(path, decodePath(common.bytes).trimEnd());
    if ((await identity(named)) !== (await identity(this.#repository)))
      throw this.#unusable(`${path}/commondir`, 'names another repository');
  }

  /** Checks a file, or a directory with all that is in it. A missing entry is no fault. */
  async entry(path: string, rules: Rules): Promise<void> {
    const stats = await statusOf(path);
    if (stats === null) return;
    if (!stats.isFile()) {
      this.#mustBeDirectory(path, stats, rules);
      await this.tree(path, rules);
      return;
    }
    // git reads each line of a list of graph layers into memory, twice.
    const most = path.endsWith('-chain') ? mostRefBytes : rules.mostBytes;
    if (most !== null && stats.size > most) throw this.#unusable(path, `is longer than ${most} bytes`);
  }

  /** Checks the alternates of a directory of objects, and their alternates. */
  async alternates(objects: string): Promise<void> {
    const seen = new Set<string>();
    try {
      for (const alternate of alternatesOf(objects, false)) {
        const stats = await stat(encodePath(alternate), { bigint: true }).catch(() => null);
        const id = `${stats?.dev}:${stats?.ino}`;
        if (stats?.isDirectory() !== true || seen.has(id)) continue;
        seen.add(id);
        await this.objects(alternate, { device: stats.dev, owner: null, mostBytes: null });
      }
    } catch (error) {
      throw error instanceof CannotTell ? new UnusableRepository(this.#named(error.message)) : error;
    }
  }

  async *#entries(path: string): ReturnType<typeof directoryEntries> {
    try {
      for await (const entry of directoryEntries(path)) {
        this.#left -= 1;
        if (this.#left < 0) throw new UnusableRepository(`it has more than ${mostEntries} files`);
        this.#signal.throwIfAborted();
        yield entry;
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  #mustBeDirectory(path: string, stats: Status, { device, owner }: Rules): void {
    if (stats.isSymbolicLink()) throw this.#unusable(path, 'is a link');
    if (!stats.isDirectory()) throw this.#unusable(path, 'is neither a directory nor a regular file');
    if (stats.dev !== device) throw this.#unusable(path, 'is another file system');
    // A gc by root leaves directories of root, which no stranger can change.
    if (owner !== null && stats.uid !== owner && stats.uid !== 0n)
      throw this.#unusable(
        path,
        'is of another user, and core.sharedRepository does not say that several write',
      );
  }

  #unusable(path: string, why: string): UnusableRepository {
    return new UnusableRepository(`${this.#named(path)} ${why}`);
  }

  /** Shortens a text that begins with a path in the repository. */
  #named(text: string): string {
    return text.startsWith(`${this.#repository}/`) ? text.slice(this.#repository.length + 1) : text;
  }
}
