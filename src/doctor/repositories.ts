/**
 * The repositories of this host: those that the templates make units, those that lie below or beside the
 * storage roots without being any, and, of very many, the ones to be looked at closely.
 *
 * Looking for them takes the time of one listing of the directories above them, and no longer than `mostMs`.
 */

import { lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/index.ts';
import {
  decodePath,
  discover,
  encodePath,
  type Root,
  resolveLayout,
  type StorageKind,
} from '../layout/index.ts';
import type { HookUser } from './rights.ts';

export interface Repository {
  readonly path: string;
  /** Owner of the repository: git works on it as this user. */
  readonly user: HookUser;
}

export interface Repositories {
  readonly roots: readonly Root[];
  /** Number of repositories that the templates match. */
  readonly count: number;
  /** The ones of those to be looked at closely. */
  readonly close: readonly Repository[];
  /** Repositories that no template matches. */
  readonly unmanaged: readonly string[];
  readonly unread: readonly { readonly path: string; readonly error: string }[];
  /** Tells whether the time was enough to find all. */
  readonly whole: boolean;
}

const mostMs = 20_000;
const mostClose = 500;

/** Directories that are looked into for repositories where no template leads, and how far down. */
const mostBeside = 2000;
const deepestBeside = 2;

export function lookForRepositories(
  { storages, scan }: Config,
  limits = { mostMs, mostClose },
): Repositories {
  const { roots, tracks, exclude } = resolveLayout(storages, scan.exclude);
  const known: string[] = [];
  const passed = new Set<string>();
  const listed: string[] = [];
  const unread: { path: string; error: string }[] = [];
  const deadline = performance.now() + limits.mostMs;
  let whole = true;
  for (const found of discover({ roots, tracks, exclude })) {
    if (found.type === 'unit') {
      if (isOfGit(found.unit.kind)) known.push(found.unit.path);
      passed.add(found.unit.path);
    } else if (found.type === 'listed') {
      listed.push(found.path);
      passed.add(found.path);
    } else if (found.type === 'unread') {
      unread.push({ path: found.path, error: found.error });
      passed.add(found.path);
    }
    if (performance.now() > deadline) {
      whole = false;
      break;
    }
  }
  const kept = roots.filter((_, index) => tracks.some(({ kind, root }) => root === index && isOfGit(kind)));
  const unmanaged = unmanagedRepositories(kept, listed, passed, exclude);
  const close = chosen(known, limits.mostClose).flatMap(path => repositoryAt(path));
  return { roots, count: known.length, close, unmanaged, unread, whole };
}

function isOfGit(kind: StorageKind): boolean {
  return kind === 'repos' || kind === 'wiki';
}

/** Those that look unprotected at a glance first, but never alone; the others in equal distances. */
function chosen(paths: readonly string[], most: number): readonly string[] {
  if (paths.length <= most) return [...paths].sort();
  const half = Math.ceil(most / 2);
  const suspect = new Set(paths.filter(path => !exists(`${path}/hooks/pre-receive`)).slice(0, half));
  const rest = paths.filter(path => !suspect.has(path)).sort();
  const wanted = Math.min(most - suspect.size, rest.length);
  const spread = Array.from(
    { length: wanted },
    (_, index) => rest[Math.floor((index * rest.length) / wanted)],
  );
  return [...suspect, ...spread.filter(path => path !== undefined)].sort();
}

function repositoryAt(path: string): Repository[] {
  try {
    const { uid, gid } = statSync(encodePath(path));
    return [{ path, user: { uid, gid } }];
  } catch {
    return []; // gone since
  }
}

/**
 * A template may pass through a repository that it does not match, and look at what is inside; and it leaves
 * out what cannot match.
 */
function unmanagedRepositories(
  roots: readonly Root[],
  listed: readonly string[],
  passed: ReadonlySet<string>,
  exclude: readonly string[],
): string[] {
  const unmanaged = new Set<string>();
  const isInside = (path: string): boolean => {
    for (let at = path; at !== '/'; at = dirname(at)) if (unmanaged.has(at)) return true;
    return false;
  };
  const waiting: { path: string; depth: number }[] = [];
  for (const path of listed) {
    if (isInside(path)) continue;
    if (isRepository(path)) unmanaged.add(path);
    else waiting.push(...below(path, passed, exclude).map(child => ({ path: child, depth: 0 })));
  }
  for (const { path } of roots.filter(({ state }) => state === 'present')) {
    const parent = dirname(path);
    if (parent === '/' || isInside(parent)) continue;
    const leads = (child: string): boolean => roots.some(root => `${root.path}/`.startsWith(`${child}/`));
    const siblings = below(parent, passed, exclude).filter(child => !leads(child));
    waiting.push(...siblings.map(child => ({ path: child, depth: 0 })));
  }
  let looked = 0;
  for (let next = waiting.shift(); next !== undefined && looked < mostBeside; next = waiting.shift()) {
    looked += 1;
    const { path, depth } = next;
    if (isInside(path)) continue;
    if (isRepository(path)) unmanaged.add(path);
    else if (depth < deepestBeside) {
      waiting.push(...below(path, passed, exclude).map(child => ({ path: child, depth: depth + 1 })));
    }
  }
  return [...unmanaged].sort();
}

function isRepository(path: string): boolean {
  return ['HEAD', 'objects', 'refs'].every(name => exists(`${path}/${name}`));
}

/**
 * The directories in a directory that nothing has passed yet; a working copy's `.git` is none of a server's.
 */
function below(path: string, passed: ReadonlySet<string>, exclude: readonly string[]): string[] {
  try {
    return readdirSync(encodePath(path), { withFileTypes: true, encoding: 'buffer' })
      .filter(entry => entry.isDirectory())
      .map(entry => decodePath(entry.name))
      .filter(name => name !== '.git' && !exclude.includes(name))
      .map(name => `${path}/${name}`)
      .filter(child => !passed.has(child));
  } catch {
    return [];
  }
}

function exists(path: string): boolean {
  try {
    return lstatSync(encodePath(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
