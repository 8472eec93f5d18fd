/**
 * The one file that the stubs in repositories run, instead of a whole hook in each.
 *
 * A stub runs with the rights of the user who takes pushes. So only the owner of the repository and root may
 * be able to change that file, or any directory above it, and the owner must be able to read it. Where that
 * is not so, the repositories have whole hooks.
 */

import { constants, lstatSync, readFileSync, type Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readBounded } from '../../bounded/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { beforeFollow, encodePath } from '../../layout/index.ts';
import { printable } from '../../text/index.ts';
import { openBelow, placeOf } from './below.ts';
import { type HookName, hookNames, hooksDirectory, packagedHook } from './hook.ts';

/** Where stubs find the hooks; `none`: repositories have whole hooks. */
export type SharedPlace = string | 'none';

/** The directory of the package's own hooks. */
export function packageShared(): string {
  return fileURLToPath(hooksDirectory).replace(/\/$/, '');
}

/** Stands for the path of the hook in `hooks/stubs/NAME`. */
export const placeMark = '@SHARED@';

/** The stub that runs the hook of this name in the directory. */
export function stub(name: HookName, directory: string): Buffer {
  const text = readFileSync(new URL(`stubs/${name}`, hooksDirectory), 'utf8');
  return Buffer.from(text.replace(placeMark, () => join(directory, name)));
}

/** The file that a stub runs; null where these are the bytes of no stub. */
export function stubTarget(content: Uint8Array): string | null {
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString();
  return /^hook='(\/[^'\n]*)'$/m.exec(text)?.[1] ?? null;
}

/** What these bytes are as a stub; null where they are none. */
export function stubIn(name: HookName, content: Buffer): { runs: string; current: boolean } | null {
  const runs = stubTarget(content);
  return runs === null ? null : { runs, current: content.equals(stub(name, dirname(runs))) };
}

/** Tells whether it is this version's stub, and the file that it runs is this version's hook. */
export function isCurrentStub(name: HookName, content: Buffer): boolean {
  const found = stubIn(name, content);
  if (found === null || !found.current) return false;
  try {
    beforeFollow(found.runs);
    const file = readBounded(encodePath(found.runs), { follow: true });
    return file.kind === 'file' && file.whole && file.bytes.equals(packagedHook(name));
  } catch {
    return false;
  }
}

const { S_IWGRP, S_IWOTH, S_IROTH, S_IXOTH, S_IRUSR, S_IXUSR } = constants;
const sticky = 0o1000;

/** Returns why a repository of this user cannot have stubs of the hooks in this directory; null if it can. */
export async function sharedFault(directory: string, uid: number): Promise<string | null> {
  if (!/^\/[^'|&\\\p{Cc}]*$/u.test(directory))
    return `${printable(directory)} has a character that a stub cannot name`;
  for (const name of hookNames) {
    const fault = await fileFault(join(directory, name), uid);
    if (fault !== null) return fault;
  }
  return null;
}

async function fileFault(file: string, uid: number): Promise<string | null> {
  let physical: string;
  try {
    beforeFollow(file);
    physical = await realpath(file);
  } catch {
    return `${printable(file)} does not exist, or cannot be reached`;
  }
  // A link on the way could be changed by who may write the directory that it is in: no link, no such
  // question.
  if (physical !== file) return `${printable(file)} leads to ${printable(physical)}`;
  for (let path = file; ; path = dirname(path)) {
    const stats = lstatSync(path);
    if (canBeChanged(stats, uid))
      return `${printable(path)} may be changed by others than root and the owner of the repository`;
    if (!canBeRead(stats, uid)) return `${printable(path)} cannot be read by the owner of the repository`;
    if (path === '/') return null;
  }
}

function canBeChanged(stats: Stats, uid: number): boolean {
  if (stats.uid !== 0 && stats.uid !== uid) return true;
  if ((stats.mode & (S_IWGRP | S_IWOTH)) === 0) return false;
  // In such a directory nobody replaces what belongs to somebody else.
  return !(stats.isDirectory() && (stats.mode & sticky) !== 0);
}

/** A group's rights do not count: who is in it may change. */
function canBeRead(stats: Stats, uid: number): boolean {
  const [others, owners] = stats.isDirectory() ? [S_IXOTH, S_IXUSR] : [S_IROTH, S_IRUSR];
  return uid === 0 || (stats.mode & (stats.uid === uid ? owners : others)) !== 0;
}

/** The hooks as one repository gets them. */
export interface HookContents {
  readonly bytes: (name: HookName) => Buffer;
  /** Tells whether stubs of this version stay that run this version's hooks from another directory. */
  readonly keepsStubs: boolean;
}

export const wholeHooks: HookContents = { bytes: packagedHook, keepsStubs: false };

/** The user who owns nothing. */
const nobody = 65_534;

/** Decides for each owner of repositories whether these get stubs, and looks once for each owner. */
export class StubChoice {
  readonly #directory: SharedPlace;
  readonly #faults = new Map<number, string | null>();
  /** Why repositories got whole hooks, where they should have got stubs; null where none did. */
  wholeBecause: string | null = null;

  readonly #keepsStubs: boolean;

  /**
   * `directory`: where somebody wants it to be; undefined: the package's own, unless stubs run another one.
   */
  constructor(directory: SharedPlace | undefined) {
    this.#directory = directory ?? packageShared();
    this.#keepsStubs = directory === undefined;
  }

  /** Looks again from now on: what was at fault may have been mended, and the other way round. */
  forget(): void {
    this.#faults.clear();
    this.wholeBecause = null;
  }

  async contentsFor(uid: number): Promise<HookContents> {
    const directory = this.#directory;
    if (directory === 'none') return wholeHooks;
    const known = this.#faults.get(uid);
    const fault = known === undefined ? await sharedFault(directory, uid) : known;
    this.#faults.set(uid, fault);
    if (fault === null) return { bytes: name => stub(name, directory), keepsStubs: this.#keepsStubs };
    this.wholeBecause ??= fault;
    return wholeHooks;
  }

  /**
   * The place for repositories that do not exist yet: `none` where any of those that do has whole hooks.
   * Without any, root does not know whose they will be, so that everybody has to be able to read it.
   */
  async placeForNew(): Promise<SharedPlace> {
    const directory = this.#directory;
    if (directory === 'none' || this.wholeBecause !== null) return 'none';
    if (this.#faults.size > 0) return directory;
    const uid = process.geteuid?.() || nobody;
    return (await sharedFault(directory, uid)) === null ? directory : 'none';
  }
}

/**
 * Makes a directory of shared hooks that have to lie elsewhere than the package, such as beside the
 * repositories that a container sees, and gives its path without links. Each file is replaced at once.
 * Rejects with `usage` where the path is not absolute, with `conflict` where others than root may have put a
 * link on the way.
 */
export async function writeShared(directory: string): Promise<string> {
  if (!directory.startsWith('/')) {
    throw new SoftquotaError('usage', `${directory} is not known; expected an absolute path, or none`);
  }
  if (directory === packageShared()) return directory;
  const made = { mode: 0o755, uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  const folder = await openBelow(placeOf(directory), made);
  try {
    const { uid, gid } = folder.stats;
    for (const name of hookNames) {
      const content = packagedHook(name);
      const entry = folder.entry(name);
      if (entry.kind === 'file' && entry.bytes.equals(content) && (entry.stats.mode & 0o777) === 0o755)
        continue;
      await folder.write(name, content, { mode: 0o755, uid, gid });
    }
    return folder.path;
  } finally {
    await folder.close();
  }
}
