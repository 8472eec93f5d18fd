/**
 * A Gitea or Forgejo in which owners, repositories and all that they have come, move and go at random, with
 * directories without rows and rows without directories.
 */

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Numbers, oneOf } from '../../numbers.ts';
import { GiteaRows } from './gitea-rows.ts';
import {
  type Campaign,
  isOneIn,
  oneByWeight,
  removeRepository,
  repositoryBytes,
  type Stored,
  Table,
  writeRepository,
} from './world.ts';

/** A repository or a wiki, which lies below the directory of an owner. */
interface Directory {
  readonly path: string;
  readonly owner: string;
  readonly name: string;
  readonly isWiki: boolean;
}

const mostSize = 5000;
/** Few, so that a name that somebody gave up is soon another's. */
const names = Array.from({ length: 60 }, (_, at) => `name-${at}`);
/** A user, an organization and a bot. */
const ownerTypes = [0, 0, 1, 1, 4];

export class GiteaCampaign implements Campaign {
  readonly #random: Numbers;
  readonly #root: string;
  readonly #statements: string[] = [];
  readonly #directories = new Map<string, Directory>();
  readonly #rows: GiteaRows;

  readonly #users = new Table<{
    id: number;
    lower_name: string;
    name: string;
    type: number;
    email: string;
    passwd: string;
    avatar: string;
    avatar_email: string;
  }>('user', this.#statements);
  readonly #repositories = new Table<{
    id: number;
    owner_id: number;
    owner_name: string;
    lower_name: string;
    name: string;
    is_private: boolean;
  }>('repository', this.#statements);

  /** `root`: the directory of repositories; `data`: that of everything else. */
  constructor(random: Numbers, root: string, data: string) {
    this.#random = random;
    this.#root = root;
    this.#rows = new GiteaRows(random, data, this.#statements, {
      anyOwner: () => this.#users.any(random)?.id,
      anyRepository: () => this.#anyRepository()?.id,
      nameOf: owner => this.#users.rows.get(owner ?? 0)?.lower_name,
      ownerOf: repository =>
        this.#users.rows.get(this.#repositories.rows.get(repository)?.owner_id ?? 0)?.lower_name,
    });
    for (let count = 0; count < 20; count++) this.#addOwner();
    for (let count = 0; count < 100; count++) this.#addRepository();
  }

  statements(): string {
    return `BEGIN;\n${this.#statements.splice(0).join(';\n')};\nCOMMIT;`;
  }

  step(): void {
    oneByWeight(this.#random, [
      [this.#repositories.rows.size < 120 ? 10 : 3, () => this.#addRepository()],
      [4, () => this.#fork()],
      [6, () => this.#deleteRepository(this.#anyRepository()?.id)],
      [5, () => this.#transfer()],
      [3, () => this.#renameRepository()],
      [2, () => this.#renameOwner()],
      [this.#users.rows.size < 24 ? 3 : 1, () => this.#addOwner()],
      [1, () => this.#deleteOwner()],
      [3, () => this.#adopt()],
      [2, () => this.#loseDirectory()],
      [8, () => this.#push()],
      [3, () => this.#turnVisibility()],
      ...this.#rows.choices,
    ]);
  }

  stored(): readonly Stored[] {
    return [
      ...[...this.#directories.values()].map(each => this.#storedDirectory(each)),
      ...this.#rows.stored(),
    ];
  }

  #storedDirectory({ path, owner, name, isWiki }: Directory): Stored {
    const bytes = repositoryBytes(path);
    if (isWiki) return { leaf: 'size:assets:wiki', bytes, owners: [owner] };
    const row = this.#rowAt(owner, name);
    const isPublic = row !== undefined && !row.is_private;
    return { leaf: `size:repos:${isPublic ? 'public' : 'private'}`, bytes, owners: [owner] };
  }

  #rowAt(owner: string, name: string) {
    return this.#repositories.all.find(
      row => row.owner_name.toLowerCase() === owner && row.lower_name === name,
    );
  }

  #anyRepository() {
    return this.#repositories.any(this.#random);
  }

  #size(): number {
    return 1 + this.#random(mostSize);
  }

  #spelled(name: string): string {
    return isOneIn(2, this.#random) ? name : `N${name.slice(1)}`;
  }

  #pathOf(owner: string, name: string, isWiki: boolean): string {
    return join(this.#root, owner, `${name}${isWiki ? '.wiki' : ''}.git`);
  }

  /** A name that nobody has, and perhaps one below which something was left. */
  #freeOwnerName(isLeftTaken: boolean): string {
    const taken = new Set([
      ...this.#users.all.map(user => user.lower_name),
      ...(isLeftTaken ? [...this.#directories.values()].map(({ owner }) => owner) : []),
      ...(isLeftTaken ? this.#repositories.all.map(row => row.owner_name.toLowerCase()) : []),
    ]);
    return oneOf(
      names.filter(name => !taken.has(name)),
      this.#random,
    );
  }

  /** A name with neither a row nor a directory. */
  #isFree(owner: string, name: string): boolean {
    const hasDirectory = [false, true].some(isWiki =>
      this.#directories.has(this.#pathOf(owner, name, isWiki)),
    );
    return !hasDirectory && this.#rowAt(owner, name) === undefined;
  }

  #addOwner(): void {
    const lower = this.#freeOwnerName(false);
    this.#users.add({
      lower_name: lower,
      name: this.#spelled(lower),
      type: oneOf(ownerTypes, this.#random),
      email: `${lower}@git.example`,
      passwd: '',
      avatar: '',
      avatar_email: '',
    });
  }

  #addRepository() {
    const owner = this.#users.any(this.#random);
    const name = oneOf(names, this.#random);
    if (owner === undefined || !this.#isFree(owner.lower_name, name)) return null;
    const row = this.#addRow(owner, name);
    this.#makeDirectory(owner.lower_name, name, false);
    if (isOneIn(4, this.#random)) this.#makeDirectory(owner.lower_name, name, true);
    return row;
  }

  #addRow(owner: { readonly id: number; readonly name: string }, lower: string) {
    return this.#repositories.add({
      owner_id: owner.id,
      owner_name: owner.name,
      lower_name: lower,
      name: this.#spelled(lower),
      is_private: isOneIn(2, this.#random),
    });
  }

  #makeDirectory(owner: string, name: string, isWiki: boolean): void {
    const path = this.#pathOf(owner, name, isWiki);
    writeRepository(path, this.#size());
    this.#directories.set(path, { path, owner, name, isWiki });
  }

  #fork(): void {
    const source = this.#anyRepository();
    const fork = this.#addRepository();
    if (source === undefined || fork === null) return;
    this.#rows.forked(source.id, fork.id);
  }

  /** Some directories stay behind. */
  #deleteRepository(id: number | undefined): void {
    const [gone] = this.#repositories.remove(row => row.id === id);
    if (gone === undefined) return;
    for (const isWiki of [false, true])
      if (!isOneIn(6, this.#random))
        this.#dropDirectory(this.#pathOf(gone.owner_name.toLowerCase(), gone.lower_name, isWiki));
    this.#rows.repositoryGone(gone.id);
  }

  #dropDirectory(path: string): void {
    if (this.#directories.delete(path)) removeRepository(path);
  }

  #moveDirectories(
    from: { readonly owner: string; readonly name: string },
    owner: string,
    name: string,
  ): void {
    for (const isWiki of [false, true]) {
      const [before, path] = [this.#pathOf(from.owner, from.name, isWiki), this.#pathOf(owner, name, isWiki)];
      if (!this.#directories.delete(before)) continue;
      mkdirSync(dirname(path), { recursive: true });
      renameSync(before, path);
      this.#directories.set(path, { path, owner, name, isWiki });
    }
  }

  #transfer(): void {
    const row = this.#anyRepository();
    const to = this.#users.any(this.#random);
    if (row === undefined || to === undefined || !this.#isFree(to.lower_name, row.lower_name)) return;
    const from = { owner: row.owner_name.toLowerCase(), name: row.lower_name };
    this.#repositories.change(row.id, { owner_id: to.id, owner_name: to.name });
    // The directory stays where the transfer was cut short.
    if (!isOneIn(8, this.#random)) this.#moveDirectories(from, to.lower_name, row.lower_name);
  }

  #renameRepository(): void {
    const row = this.#anyRepository();
    const name = oneOf(names, this.#random);
    if (row === undefined || !this.#isFree(row.owner_name.toLowerCase(), name)) return;
    const owner = row.owner_name.toLowerCase();
    this.#moveDirectories({ owner, name: row.lower_name }, owner, name);
    this.#repositories.change(row.id, { lower_name: name, name: this.#spelled(name) });
  }

  #renameOwner(): void {
    const user = this.#users.any(this.#random);
    if (user === undefined) return;
    const owner = isOneIn(4, this.#random) ? user.lower_name : this.#freeOwnerName(true);
    const name = this.#spelled(owner);
    this.#users.change(user.id, { lower_name: owner, name });
    for (const row of this.#repositories.where(each => each.owner_id === user.id))
      this.#repositories.change(row.id, { owner_name: name });
    const [from, to] = [user.lower_name, owner].map(each => join(this.#root, each));
    if (from === undefined || to === undefined || from === to || !existsSync(from)) return;
    rmSync(to, { recursive: true, force: true });
    renameSync(from, to);
    for (const each of [...this.#directories.values()].filter(one => one.owner === user.lower_name)) {
      this.#directories.delete(each.path);
      const path = this.#pathOf(owner, each.name, each.isWiki);
      this.#directories.set(path, { ...each, path, owner });
    }
  }

  /** Seldom only the owner's own row goes. */
  #deleteOwner(): void {
    const user = this.#users.any(this.#random);
    if (user === undefined || this.#users.rows.size < 10) return;
    this.#users.remove(({ id }) => id === user.id);
    if (isOneIn(4, this.#random)) return;
    for (const { id } of this.#repositories.where(row => row.owner_id === user.id))
      this.#deleteRepository(id);
    this.#rows.ownerGone(user.id);
  }

  /** A directory without a row becomes a repository of its owner again. */
  #adopt(): void {
    const left = [...this.#directories.values()].filter(
      ({ owner, name, isWiki }) => !isWiki && this.#rowAt(owner, name) === undefined,
    );
    if (left.length === 0) return;
    const { owner, name } = oneOf(left, this.#random);
    const [user] = this.#users.where(row => row.lower_name === owner);
    if (user !== undefined) this.#addRow(user, name);
  }

  #loseDirectory(): void {
    if (this.#directories.size > 0) this.#dropDirectory(oneOf([...this.#directories.keys()], this.#random));
  }

  #push(): void {
    if (this.#directories.size > 0)
      writeRepository(oneOf([...this.#directories.keys()], this.#random), this.#size());
  }

  #turnVisibility(): void {
    const row = this.#anyRepository();
    if (row !== undefined) this.#repositories.change(row.id, { is_private: !row.is_private });
  }
}
