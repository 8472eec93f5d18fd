/**
 * Finds the repositories of this host: those that templates match, those below or beside the storage roots
 * that none matches, replicas of a Gitaly Cluster among them, and folders inside of repositories that git
 * would take for repositories. Chooses a part that is checked closely, if there are very many.
 *
 * The search lists the directories above repositories once, and ends after `mostMs`.
 */

import { lstatSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import type { Config } from '../config/index.ts';
import { isOurs } from '../git/index.ts';
import { commandLine } from '../health/index.ts';
import {
  configValue,
  discover,
  encodePath,
  isWithin,
  locateByMounts,
  mountsNow,
  parseTemplate,
  type Root,
  resolveLayout,
  type StorageKind,
  type Unread,
} from '../layout/index.ts';
import { counted, printable } from '../text.ts';
import {
  asUser,
  type HookUser,
  type HostContext,
  type Installation,
  type Report,
  setKey,
  softquota,
} from './installation.ts';
import { entriesIn, fileText, isDirectory, statusOf } from './paths.ts';

export interface Repository {
  readonly path: string;
  /** Owner of the repository: git works on it as this user. */
  readonly user: HookUser;
}

export interface Repositories {
  readonly roots: readonly Root[];
  /** Number of repositories that the templates match. */
  readonly count: number;
  /** The part of these that is checked closely. */
  readonly close: readonly Repository[];
  readonly unmanaged: readonly string[];
  /** Working trees of the repositories in `close` that are outside of all units. */
  readonly workingTrees: readonly string[];
  readonly unread: readonly Unread[];
  /** True if the time was enough to find all. */
  readonly whole: boolean;
}

const mostMs = 20_000;
const mostClose = 500;

/** Bounds of the search where no template leads: number of directories, and levels. */
const mostBeside = 2000;
const deepestBeside = 2;

export function lookForRepositories(
  { storages, scan }: Config,
  limits = { mostMs, mostClose },
): Repositories {
  const layout = resolveLayout(storages, scan.exclude);
  const { roots, tracks, exclude } = layout;
  const known: string[] = [];
  const passed = new Set<string>();
  const listed: string[] = [];
  const unread: Unread[] = [];
  const deadline = performance.now() + limits.mostMs;
  let whole = true;
  for (const found of discover(layout)) {
    if (found.type === 'unit') {
      if (isOfGit(found.unit.kind)) known.push(found.unit.path);
      passed.add(found.unit.path);
    } else if (found.type === 'listed') {
      listed.push(found.path);
      passed.add(found.path);
    } else if (found.type === 'unread') {
      unread.push(found);
      passed.add(found.path);
    }
    if (performance.now() > deadline) {
      whole = false;
      break;
    }
  }
  const kept = roots.filter((_, index) => tracks.some(({ kind, root }) => root === index && isOfGit(kind)));
  const mounts = mountsNow();
  const unmanaged = unmanagedRepositories(kept, listed, passed, exclude).filter(
    path => locateByMounts(layout, path, mounts).found !== 'unit',
  );
  const close = chosen(known, limits.mostClose).flatMap((path): Repository[] => {
    const user = statusOf(path);
    return user === null ? [] : [{ path, user: { uid: user.uid, gid: user.gid } }];
  });
  const units = new Set(known);
  const workingTrees = close.flatMap(({ path }) => workingTreesOf(path, units));
  return { roots, count: known.length, close, unmanaged, workingTrees, unread, whole };
}

function isOfGit(kind: StorageKind): boolean {
  return kind === 'repos' || kind === 'wiki';
}

/** Chooses some: up to half of them have no pre-receive hook, and the others are spread evenly. */
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

/** Finds repositories among the directories that templates pass through, and among those that they skip. */
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

const mostTrees = 100;

/** The working trees of a repository that are in no unit. */
function workingTreesOf(repository: string, units: ReadonlySet<string>): readonly string[] {
  const linked = [...entriesIn(`${repository}/worktrees`).keys()].slice(0, mostTrees).flatMap(name => {
    const place = `${repository}/worktrees/${name}`;
    const text = fileText(`${place}/gitdir`);
    return text === null ? [] : [dirname(resolve(place, text.trimEnd()))];
  });
  const own = basename(repository) === '.git' ? [dirname(repository)] : [];
  const isInUnit = (path: string): boolean => path !== '/' && (units.has(path) || isInUnit(dirname(path)));
  return [...linked, ...own].filter(tree => exists(`${tree}/.git`) && !isInUnit(tree));
}

/** Returns true if git accepts pushes to the branch that is checked out. */
function takesPushes(workingCopy: string): boolean {
  const said = configValue(fileText(`${workingCopy}/.git/config`) ?? '', 'receive.denyCurrentBranch');
  return said.found === 'value' && !/^(?:refuse|true|yes|on|1)$/i.test(said.value);
}

/** Directories in a directory that were not visited yet; a `.git` only if it accepts pushes. */
function below(path: string, passed: ReadonlySet<string>, exclude: readonly string[]): string[] {
  return [...entriesIn(path)]
    .filter(([name, isDirectory]) => isDirectory && !exclude.includes(name))
    .filter(([name]) => name !== '.git' || takesPushes(path))
    .map(([name]) => `${path}/${name}`)
    .filter(child => !passed.has(child));
}

function exists(path: string): boolean {
  try {
    return lstatSync(encodePath(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Most directories that are searched, in one repository and in all together. */
const mostOfOne = 2000;
const mostOfAll = 100_000;

export function checkInnerRepositories(
  report: Report,
  context: HostContext,
  repositories: readonly Repository[],
): void {
  let left = mostOfAll;
  for (const { path, user } of repositories) {
    for (const below of ['refs', 'logs', 'modules']) {
      const { inner, looked } = innerBelow(`${path}/${below}`, Math.min(left, mostOfOne));
      left -= looked;
      const [first] = inner;
      if (first === undefined) continue;
      const others = inner.length === 1 ? '' : ` (and ${inner.length - 1} more)`;
      const message = `${printable(first)}: git takes this for a repository without hooks${others}`;
      const name = first.slice(path.length + 1);
      const mend =
        below === 'modules'
          ? softquota(context, 'hooks install', path)
          : below === 'refs'
            ? asUser(context, user.uid, 'git', '-C', path, 'update-ref', '-d', `${name}/HEAD`)
            : asUser(context, user.uid, 'rm', `${first}/HEAD`);
      report.found('inner_repository', message, mend);
    }
  }
  report.checked.push(`the folders inside of ${counted(repositories.length, 'repository', 'repositories')}`);
}

function innerBelow(root: string, most: number): { inner: readonly string[]; looked: number } {
  const inner: string[] = [];
  const waiting = [root];
  let looked = 0;
  for (let path = waiting.pop(); path !== undefined && looked < most; path = waiting.pop()) {
    looked += 1;
    const names = entriesIn(path);
    const isRepository = names.has('HEAD') && (names.has('objects') || names.has('commondir'));
    // If the hook is in it, pushes there are checked.
    if (isRepository && !exists(`${path}/hooks/pre-receive`)) inner.push(path);
    for (const [name, isDirectory] of names)
      if (isDirectory && name !== 'objects') waiting.push(`${path}/${name}`);
  }
  return { inner, looked };
}

const gitoliteAdmin = 'gitolite-admin.git';

type UnmanagedCode = 'unknown_repository' | 'unmanaged_repository';

export function checkUnmanaged(
  report: Report,
  installation: Installation,
  { unmanaged, workingTrees, roots }: Repositories,
): void {
  // This repository has gitolite's own configuration: it has no owner, and cannot be moved.
  const found = unmanaged.filter(path => basename(path) !== gitoliteAdmin);
  const hooked = found.filter(isMeantToAsk);
  const others = found.filter(path => !isMeantToAsk(path));
  const unasked = 'has the hooks, but is not matched by any PATH, so every push is allowed';
  tell('unknown_repository', hooked, unasked);
  tell('unmanaged_repository', others, 'not matched by any PATH, so not counted');
  tell('unmanaged_repository', workingTrees, 'the working tree of a repository, which is not counted');
  report.checked.push(counted(roots.length, 'storage root', 'storage roots'));

  /** Excludes links of gitolite, which puts the hooks into all of its repositories. */
  function isMeantToAsk(path: string): boolean {
    const hook = hookAt(`${path}/hooks/pre-receive`);
    return hook !== null && (!hook.isLink || templateFor(path, roots) !== null);
  }

  function tell(code: UnmanagedCode, paths: readonly string[], what: string): void {
    const [first] = paths;
    if (first === undefined) return;
    const more = paths.length === 1 ? '' : ` (and ${paths.length - 1} more)`;
    report.found(code, `${printable(first)}: ${what}${more}`, mendFor(first, code));
  }

  function mendFor(path: string, code: UnmanagedCode): string {
    if (workingTrees.includes(path))
      return `if nobody needs it, and it has no repository of its own: ${commandLine('git', '-C', path, 'worktree', 'remove', path)}`;
    const template = templateFor(path, roots);
    const repos = installation.loaded.config.storages.find(({ kind }) => kind === 'repos');
    const templates = repos?.templates ?? [];
    if (template !== null && !templates.includes(template)) {
      const paths = [...templates, template].join(', ');
      return setKey(installation, 'storage.repos', 'PATH', paths, 'reload');
    }
    if (unmanaged.some(each => each === join(dirname(path), gitoliteAdmin)))
      return 'if it should count, give it a name in gitolite.conf that a template matches, such as OWNER/NAME';
    if (code === 'unmanaged_repository')
      return 'if it should count, move it to a path that a template matches';
    const remove = softquota({ ...installation.context, configOption: null }, 'hooks remove', path);
    return `move it to a path that a template matches, or remove its hooks: ${remove}`;
  }
}

/** The softquota hook at a path; null if there is none. */
function hookAt(path: string): { readonly isLink: boolean } | null {
  try {
    const file = readBounded(encodePath(path), { follow: true });
    if (!isOurs('pre-receive', file)) return null;
    return { isLink: lstatSync(encodePath(path)).isSymbolicLink() };
  } catch {
    return null;
  }
}

/** A template below the nearest storage root that would match the path; null if the path names no owner. */
function templateFor(path: string, roots: Repositories['roots']): string | null {
  const root = roots
    .map(each => each.path)
    .filter(each => path.startsWith(`${each}/`))
    .sort((a, b) => b.length - a.length)[0];
  if (root === undefined) return null;
  const names = path.slice(root.length + 1).split('/');
  if (names.length < 2) return null;
  const template = `${root}/{owner}/{repo}${path.endsWith('.git') ? '.git' : ''}`;
  return parseTemplate(template).ok ? template : null;
}

/** Finds replicas of a Gitaly Cluster that no PATH leads to, or whose owners nobody can tell. */
export function checkCluster(
  report: Report,
  installation: Installation,
  { roots }: Pick<Repositories, 'roots'>,
): void {
  const { forge, storages } = installation.loaded.config;
  const paths = roots.map(({ path }) => path);
  const isCovered = (tree: string) => paths.some(path => isWithin(path, tree) || isWithin(tree, path));
  const templates = storages.find(({ kind }) => kind === 'repos')?.templates ?? [];
  const asksForge = storages.some(({ kind, owner }) => kind === 'repos' && owner.by === 'forge');
  for (const tree of new Set(paths.flatMap(treesBeside))) {
    const what = `${printable(tree)}: replicas of a Gitaly Cluster`;
    if (!isCovered(tree)) {
      const value = [...templates, `${tree}/*/*/{repo}`].join(', ');
      const mend = setKey(installation, 'storage.repos', 'PATH', value, 'reload');
      report.found('unmanaged_repository', `${what} that no PATH matches, so they do not count`, mend);
    } else if (asksForge && forge !== null && forge.praefect === null) {
      const mend =
        'set [forge] PRAEFECT and PRAEFECT_STORAGE, as docs/forges/gitlab.md says; then restart the daemon';
      report.found('forge_unowned', `${what}, which count for nobody without [forge] PRAEFECT`, mend);
    }
  }
}

/** The directories of replicas on the storage of a Gitaly in which a root lies. */
function treesBeside(root: string): readonly string[] {
  const storage = /^(.*)\/@(?:hashed|snippets|pools|cluster)(?:\/|$)/.exec(root)?.[1];
  if (storage === undefined) return [];
  return ['repositories', 'pools'].map(name => `${storage}/@cluster/${name}`).filter(isDirectory);
}
