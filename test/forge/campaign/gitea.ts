/**
 * A Gitea or Forgejo in which owners, repositories and all that they have come, move and go at random, with
 * directories without rows and rows without directories.
 */

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { giteaRows } from './gitea-rows.ts';
import {
  type Campaign,
  type Chances,
  removeRepository,
  repositoryBytes,
  type Stored,
  writeRepository,
} from './world.ts';

/** A repository or a wiki, which lies below the directory of an owner. */
interface Directory {
  readonly path: string;
  readonly owner: string;
  readonly name: string;
  readonly isWiki: boolean;
}

/** Few, so that a name that somebody gave up is soon another's. */
const names = Array.from({ length: 60 }, (_, at) => `name-${at}`);
/** A user, an organization and a bot. */
const ownerTypes = [0, 0, 1, 1, 4];

/** `root`: the directory of repositories; `data`: that of everything else. */
export function giteaCampaign(chances: Chances, root: string, data: string): Campaign {
  const directories = new Map<string, Directory>();
  const users = chances.table('user', {
    lower_name: '',
    name: '',
    type: 0,
    email: '',
    passwd: '',
    avatar: '',
    avatar_email: '',
  });
  const repositories = chances.table('repository', {
    owner_id: 0,
    owner_name: '',
    lower_name: '',
    name: '',
    is_private: false as boolean, // either
  });
  const rows = giteaRows(chances, data, {
    anyOwner: () => users.any()?.id,
    anyRepository: () => anyRepository()?.id,
    nameOf: owner => users.rows.get(owner ?? 0)?.lower_name,
    ownerOf: repository => users.rows.get(repositories.rows.get(repository)?.owner_id ?? 0)?.lower_name,
  });
  for (let count = 0; count < 20; count++) addOwner();
  for (let count = 0; count < 100; count++) addRepository();
  return { step, stored, statements: () => chances.statements() };

  function step(): void {
    chances.oneByWeight([
      [repositories.rows.size < 120 ? 10 : 3, () => addRepository()],
      [4, () => fork()],
      [6, () => deleteRepository(anyRepository()?.id)],
      [5, () => transfer()],
      [3, () => renameRepository()],
      [2, () => renameOwner()],
      [users.rows.size < 24 ? 3 : 1, () => addOwner()],
      [1, () => deleteOwner()],
      [3, () => adopt()],
      [2, () => loseDirectory()],
      [8, () => push()],
      [3, () => turnVisibility()],
      ...rows.choices,
    ]);
  }

  function stored(): readonly Stored[] {
    return [...[...directories.values()].map(each => storedDirectory(each)), ...rows.stored()];
  }

  function storedDirectory({ path, owner, name, isWiki }: Directory): Stored {
    const bytes = repositoryBytes(path);
    if (isWiki) return { leaf: 'size:assets:wiki', bytes, owners: [owner] };
    const row = rowAt(owner, name);
    const isPublic = row !== undefined && !row.is_private;
    return { leaf: `size:repos:${isPublic ? 'public' : 'private'}`, bytes, owners: [owner] };
  }

  function rowAt(owner: string, name: string) {
    return repositories.all.find(row => row.owner_name.toLowerCase() === owner && row.lower_name === name);
  }

  function anyRepository() {
    return repositories.any();
  }

  function spelled(name: string): string {
    return chances.isOneIn(2) ? name : `N${name.slice(1)}`;
  }

  function pathOf(owner: string, name: string, isWiki: boolean): string {
    return join(root, owner, `${name}${isWiki ? '.wiki' : ''}.git`);
  }

  /** A name that nobody has, and perhaps one below which something was left. */
  function freeOwnerName(isLeftTaken: boolean): string {
    const taken = new Set([
      ...users.all.map(user => user.lower_name),
      ...(isLeftTaken ? [...directories.values()].map(({ owner }) => owner) : []),
      ...(isLeftTaken ? repositories.all.map(row => row.owner_name.toLowerCase()) : []),
    ]);
    return chances.oneOf(names.filter(name => !taken.has(name)));
  }

  /** A name with neither a row nor a directory. */
  function isFree(owner: string, name: string): boolean {
    const hasDirectory = [false, true].some(isWiki => directories.has(pathOf(owner, name, isWiki)));
    return !hasDirectory && rowAt(owner, name) === undefined;
  }

  function addOwner(): void {
    const lower = freeOwnerName(false);
    users.add({
      lower_name: lower,
      name: spelled(lower),
      type: chances.oneOf(ownerTypes),
      email: `${lower}@git.example`,
    });
  }

  function addRepository() {
    const owner = users.any();
    const name = chances.oneOf(names);
    if (owner === undefined || !isFree(owner.lower_name, name)) return null;
    const row = addRow(owner, name);
    makeDirectory(owner.lower_name, name, false);
    if (chances.isOneIn(4)) makeDirectory(owner.lower_name, name, true);
    return row;
  }

  function addRow(owner: { readonly id: number; readonly name: string }, lower: string) {
    return repositories.add({
      owner_id: owner.id,
      owner_name: owner.name,
      lower_name: lower,
      name: spelled(lower),
      is_private: chances.isOneIn(2),
    });
  }

  function makeDirectory(owner: string, name: string, isWiki: boolean): void {
    const path = pathOf(owner, name, isWiki);
    writeRepository(path, chances.size());
    directories.set(path, { path, owner, name, isWiki });
  }

  function fork(): void {
    const source = anyRepository();
    const fork = addRepository();
    if (source === undefined || fork === null) return;
    rows.forked(source.id, fork.id);
  }

  /** Some directories stay behind. */
  function deleteRepository(id: number | undefined): void {
    const [gone] = repositories.remove(row => row.id === id);
    if (gone === undefined) return;
    for (const isWiki of [false, true])
      if (!chances.isOneIn(6)) dropDirectory(pathOf(gone.owner_name.toLowerCase(), gone.lower_name, isWiki));
    rows.repositoryGone(gone.id);
  }

  function dropDirectory(path: string): void {
    if (directories.delete(path)) removeRepository(path);
  }

  function moveDirectories(
    from: { readonly owner: string; readonly name: string },
    owner: string,
    name: string,
  ): void {
    for (const isWiki of [false, true]) {
      const [before, path] = [pathOf(from.owner, from.name, isWiki), pathOf(owner, name, isWiki)];
      if (!directories.delete(before)) continue;
      mkdirSync(dirname(path), { recursive: true });
      renameSync(before, path);
      directories.set(path, { path, owner, name, isWiki });
    }
  }

  function transfer(): void {
    const row = anyRepository();
    const to = users.any();
    if (row === undefined || to === undefined || !isFree(to.lower_name, row.lower_name)) return;
    const from = { owner: row.owner_name.toLowerCase(), name: row.lower_name };
    repositories.change(row.id, { owner_id: to.id, owner_name: to.name });
    // The directory stays where the transfer was cut short.
    if (!chances.isOneIn(8)) moveDirectories(from, to.lower_name, row.lower_name);
  }

  function renameRepository(): void {
    const row = anyRepository();
    const name = chances.oneOf(names);
    if (row === undefined || !isFree(row.owner_name.toLowerCase(), name)) return;
    const owner = row.owner_name.toLowerCase();
    moveDirectories({ owner, name: row.lower_name }, owner, name);
    repositories.change(row.id, { lower_name: name, name: spelled(name) });
  }

  function renameOwner(): void {
    const user = users.any();
    if (user === undefined) return;
    const owner = chances.isOneIn(4) ? user.lower_name : freeOwnerName(true);
    const name = spelled(owner);
    users.change(user.id, { lower_name: owner, name });
    for (const row of repositories.where(each => each.owner_id === user.id))
      repositories.change(row.id, { owner_name: name });
    const [from, to] = [user.lower_name, owner].map(each => join(root, each));
    if (from === undefined || to === undefined || from === to || !existsSync(from)) return;
    rmSync(to, { recursive: true, force: true });
    renameSync(from, to);
    for (const each of [...directories.values()].filter(one => one.owner === user.lower_name)) {
      directories.delete(each.path);
      const path = pathOf(owner, each.name, each.isWiki);
      directories.set(path, { ...each, path, owner });
    }
  }

  /** Seldom only the owner's own row goes. */
  function deleteOwner(): void {
    const user = users.any();
    if (user === undefined || users.rows.size < 10) return;
    users.remove(({ id }) => id === user.id);
    if (chances.isOneIn(4)) return;
    for (const { id } of repositories.where(row => row.owner_id === user.id)) deleteRepository(id);
    rows.ownerGone(user.id);
  }

  /** A directory without a row becomes a repository of its owner again. */
  function adopt(): void {
    const left = [...directories.values()].filter(
      ({ owner, name, isWiki }) => !isWiki && rowAt(owner, name) === undefined,
    );
    if (left.length === 0) return;
    const { owner, name } = chances.oneOf(left);
    const [user] = users.where(row => row.lower_name === owner);
    if (user !== undefined) addRow(user, name);
  }

  function loseDirectory(): void {
    if (directories.size > 0) dropDirectory(chances.oneOf([...directories.keys()]));
  }

  function push(): void {
    if (directories.size > 0) writeRepository(chances.oneOf([...directories.keys()]), chances.size());
  }

  function turnVisibility(): void {
    const row = anyRepository();
    if (row !== undefined) repositories.change(row.id, { is_private: !row.is_private });
  }
}
