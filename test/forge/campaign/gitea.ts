/**
 * A Gitea or Forgejo in which owners, repositories, objects and files come, move and go at random, with what
 * failures leave behind: rows without files, files without rows, and sizes that no forge writes.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Numbers, oneOf } from '../../numbers.ts';
import {
  type Campaign,
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

type Sized = 'lfs_meta_object' | 'attachment' | 'action_artifact' | 'package_blob';

const mostSize = 5000;
const largest = 2 ** 50;
const oddSizes = [-1, -5, largest + 1, Number.MAX_SAFE_INTEGER];
/** Few, so that a name that somebody gave up is soon another's. */
const names = Array.from({ length: 60 }, (_, at) => `name-${at}`);
/** A user, an organization and a bot. */
const ownerTypes = [0, 0, 1, 1, 4];
/** The states of an artifact. */
const [pending, confirmed, failed, expired, waiting, deleted] = [1, 2, 3, 4, 5, 6] as const;

export class GiteaCampaign implements Campaign {
  readonly #random: Numbers;
  readonly #root: string;
  readonly #data: string;
  readonly #statements: string[] = [];
  readonly #directories = new Map<string, Directory>();
  /** Files of rows, some of which are gone, with their bytes. */
  readonly #written = new Map<string, number>();
  /** The last good sizes of rows that the daemon has seen. */
  readonly #good = new Map<string, number>();
  #lastHash = 0;

  readonly #users = this.#table<{
    id: number;
    lower_name: string;
    name: string;
    type: number;
    email: string;
    passwd: string;
    avatar: string;
    avatar_email: string;
  }>('user');
  readonly #repositories = this.#table<{
    id: number;
    owner_id: number;
    owner_name: string;
    lower_name: string;
    name: string;
    is_private: boolean;
  }>('repository');
  readonly #objects = this.#table<{ id: number; oid: string; size: number; repository_id: number }>(
    'lfs_meta_object',
  );
  readonly #attachments = this.#table<{
    id: number;
    uuid: string;
    repo_id: number;
    issue_id: number;
    comment_id: number;
    release_id: number;
    size: number;
  }>('attachment');
  readonly #artifacts = this.#table<{
    id: number;
    run_id: number;
    repo_id: number;
    file_size: number;
    file_compressed_size: number;
    status: number;
    storage_path: string;
  }>('action_artifact');
  readonly #packages = this.#table<{
    id: number;
    owner_id: number;
    repo_id: number;
    type: string;
    name: string;
    lower_name: string;
  }>('package');
  readonly #versions = this.#table<{
    id: number;
    package_id: number;
    version: string;
    lower_version: string;
    created_unix: number;
  }>('package_version');
  readonly #files = this.#table<{
    id: number;
    version_id: number;
    blob_id: number;
    name: string;
    lower_name: string;
    created_unix: number;
  }>('package_file');
  readonly #blobs = this.#table<{
    id: number;
    size: number;
    hash_md5: string;
    hash_sha1: string;
    hash_sha256: string;
    hash_sha512: string;
    created_unix: number;
  }>('package_blob');

  /** `root`: the directory of repositories; `data`: that of everything else. */
  constructor(random: Numbers, root: string, data: string) {
    this.#random = random;
    this.#root = root;
    this.#data = data;
    for (const table of ['org_user', 'team', 'team_user']) this.#statements.push(`DELETE FROM "${table}"`);
    for (let count = 0; count < 20; count++) this.#addOwner();
    for (let count = 0; count < 100; count++) this.#addRepository();
  }

  /** A table, without the rows that it had. */
  #table<Row extends { readonly id: number } & Readonly<Record<string, number | string | boolean | null>>>(
    name: string,
  ): Table<Row> {
    this.#statements.push(`DELETE FROM "${name}"`);
    return new Table<Row>(name, this.#statements);
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
      [8, () => this.#addLfs()],
      [4, () => this.#removeLfs()],
      [8, () => this.#attach()],
      [5, () => this.#changeAttachment()],
      [7, () => this.#addArtifact()],
      [6, () => this.#changeArtifact()],
      [8, () => this.#addPackageFile()],
      [5, () => this.#removeFromPackages()],
      [3, () => this.#cleanUpBlobs()],
      [2, () => this.#loseFile()],
      [2, () => this.#spoil()],
      [1, () => this.#mend()],
    ]);
  }

  stored(): readonly Stored[] {
    return [
      ...[...this.#directories.values()].map(each => this.#storedDirectory(each)),
      ...this.#storedLfs(),
      ...this.#attachments.all.map(({ id, repo_id: repository, release_id: release, size, uuid }) =>
        this.#storedFile(
          `size:assets:attachments:${release === 0 ? 'issues' : 'releases'}`,
          [this.#ownerOf(repository)],
          this.#believed('attachment', id, size),
          this.#attachmentAt(uuid),
        ),
      ),
      ...this.#artifacts.all.flatMap(artifact => {
        const { id, repo_id: repository, status, storage_path: path } = artifact;
        const size = this.#believed('action_artifact', id, artifact.file_compressed_size);
        // A size that cannot be believed is odd in every state, and the disk says what is there.
        if (size !== null && status !== confirmed && status !== waiting) return [];
        const owners = [this.#ownerOf(repository)];
        return [this.#storedFile('size:assets:artifacts', owners, size, this.#artifactAt(path))];
      }),
      ...this.#storedBlobs(),
    ];
  }

  #storedDirectory({ path, owner, name, isWiki }: Directory): Stored {
    const bytes = repositoryBytes(path);
    if (isWiki) return { leaf: 'size:assets:wiki', bytes, owners: [owner] };
    const row = this.#rowAt(owner, name);
    const isPublic = row !== undefined && !row.is_private;
    return { leaf: `size:repos:${isPublic ? 'public' : 'private'}`, bytes, owners: [owner] };
  }

  /** An object counts once for each owner who has it. */
  #storedLfs(): readonly Stored[] {
    const rows = this.#objects.all.map(row => ({
      ...row,
      size: this.#believed('lfs_meta_object', row.id, row.size),
    }));
    return [...Map.groupBy(rows, ({ oid }) => oid)].map(([oid, all]) => {
      const good = all.filter(({ size }) => size !== null);
      const owners = good.map(({ repository_id: id }) => this.#ownerOf(id));
      return this.#storedFile('size:git:lfs', owners, good[0]?.size ?? null, this.#objectAt(oid));
    });
  }

  /** A blob counts once for each owner of a package that has it. */
  #storedBlobs(): readonly Stored[] {
    const files = Map.groupBy(this.#files.all, ({ blob_id: blob }) => blob);
    return this.#blobs.all.map(({ id, size, hash_sha256: hash }) => {
      const owners = (files.get(id) ?? []).map(({ version_id: version }) => {
        const { package_id: ofPackage = 0 } = this.#versions.rows.get(version) ?? {};
        return this.#nameOf(this.#packages.rows.get(ofPackage)?.owner_id);
      });
      const believed = this.#believed('package_blob', id, size);
      return this.#storedFile('size:assets:packages:all', owners, believed, this.#blobAt(hash));
    });
  }

  /** `size`: null for one that was never good, whose file is nobody's. */
  #storedFile(
    leaf: string,
    owners: readonly (string | undefined)[],
    size: number | null,
    path: string,
  ): Stored {
    if (size === null) return { leaf, bytes: existsSync(path) ? statSync(path).size : 0, owners: [] };
    return { leaf, bytes: size, owners: [...new Set(owners.filter(owner => owner !== undefined))] };
  }

  /** The size of a row, or its last good one; null: it never had one. */
  #believed(table: Sized, id: number, size: number): number | null {
    const key = `${table} ${id}`;
    if (size >= 0 && size <= largest) this.#good.set(key, size);
    return this.#good.get(key) ?? null;
  }

  #ownerOf(repository: number): string | undefined {
    return this.#nameOf(this.#repositories.rows.get(repository)?.owner_id);
  }

  #nameOf(user: number | undefined): string | undefined {
    return this.#users.rows.get(user ?? 0)?.lower_name;
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

  /** One time in so many. */
  #seldom(times: number): boolean {
    return this.#random(times) === 0;
  }

  #spelled(name: string): string {
    return this.#seldom(2) ? name : `N${name.slice(1)}`;
  }

  #hash(): string {
    return createHash('sha256')
      .update(String(this.#lastHash++))
      .digest('hex');
  }

  #pathOf(owner: string, name: string, isWiki: boolean): string {
    return join(this.#root, owner, `${name}${isWiki ? '.wiki' : ''}.git`);
  }

  #objectAt(oid: string): string {
    return join(this.#data, 'lfs', oid.slice(0, 2), oid.slice(2, 4), oid.slice(4));
  }

  #attachmentAt(uuid: string): string {
    return join(this.#data, 'attachments', uuid.slice(0, 1), uuid.slice(1, 2), uuid);
  }

  #artifactAt(path: string): string {
    return join(this.#data, 'actions_artifacts', path);
  }

  #blobAt(hash: string): string {
    return join(this.#data, 'packages', hash.slice(0, 2), hash.slice(2, 4), hash);
  }

  /** Gives the size of a file, which is the same whenever it is written. */
  #write(path: string): number {
    const bytes = this.#written.get(path) ?? this.#size();
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.alloc(bytes));
    this.#written.set(path, bytes);
    return bytes;
  }

  /** Some files stay behind. */
  #removeFile(path: string): void {
    if (!this.#seldom(6)) rmSync(path, { force: true });
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
    if (this.#seldom(4)) this.#makeDirectory(owner.lower_name, name, true);
    return row;
  }

  #addRow(owner: { readonly id: number; readonly name: string }, lower: string) {
    return this.#repositories.add({
      owner_id: owner.id,
      owner_name: owner.name,
      lower_name: lower,
      name: this.#spelled(lower),
      is_private: this.#seldom(2),
    });
  }

  #makeDirectory(owner: string, name: string, isWiki: boolean): void {
    const path = this.#pathOf(owner, name, isWiki);
    writeRepository(path, this.#size());
    this.#directories.set(path, { path, owner, name, isWiki });
  }

  /** A fork begins with the LFS objects of its source. */
  #fork(): void {
    const source = this.#anyRepository();
    const fork = this.#addRepository();
    if (source === undefined || fork === null) return;
    for (const { oid, size } of this.#objects.where(row => row.repository_id === source.id))
      this.#objects.add({ oid, size, repository_id: fork.id });
  }

  /** Some of what it had stays behind, in rows and on the disk. */
  #deleteRepository(id: number | undefined): void {
    const [gone] = this.#repositories.remove(row => row.id === id);
    if (gone === undefined) return;
    for (const isWiki of [false, true])
      if (!this.#seldom(6))
        this.#dropDirectory(this.#pathOf(gone.owner_name.toLowerCase(), gone.lower_name, isWiki));
    if (!this.#seldom(6)) this.#removeObjects(this.#objects.remove(row => row.repository_id === id));
    if (!this.#seldom(6))
      for (const { uuid } of this.#attachments.remove(row => row.repo_id === id))
        this.#removeFile(this.#attachmentAt(uuid));
    if (!this.#seldom(6))
      for (const { storage_path: path } of this.#artifacts.remove(row => row.repo_id === id))
        this.#removeFile(this.#artifactAt(path));
    for (const each of this.#packages.where(row => row.repo_id === id))
      this.#packages.change(each.id, { repo_id: 0 });
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
    if (!this.#seldom(8)) this.#moveDirectories(from, to.lower_name, row.lower_name);
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
    const owner = this.#seldom(4) ? user.lower_name : this.#freeOwnerName(true);
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
    if (this.#seldom(4)) return;
    for (const { id } of this.#repositories.where(row => row.owner_id === user.id))
      this.#deleteRepository(id);
    for (const { id } of this.#packages.where(row => row.owner_id === user.id)) this.#removePackage(id);
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

  /** A third are objects that others have already. */
  #addLfs(): void {
    const repository = this.#anyRepository();
    if (repository === undefined) return;
    const known = this.#seldom(3) ? this.#objects.any(this.#random) : undefined;
    const oid = known?.oid ?? this.#hash();
    const isThere =
      this.#objects.where(row => row.oid === oid && row.repository_id === repository.id).length > 0;
    if (isThere) return;
    this.#objects.add({ oid, size: this.#write(this.#objectAt(oid)), repository_id: repository.id });
  }

  #removeLfs(): void {
    const any = this.#objects.any(this.#random);
    this.#removeObjects(this.#objects.remove(({ id }) => id === any?.id));
  }

  #removeObjects(gone: readonly { readonly oid: string }[]): void {
    for (const { oid } of gone)
      if (this.#objects.where(row => row.oid === oid).length === 0) this.#removeFile(this.#objectAt(oid));
  }

  #attach(): void {
    const uuid = this.#hash().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
    const of = oneOf(['issue', 'comment', 'release', 'nothing'] as const, this.#random);
    this.#attachments.add({
      uuid,
      // Rows of old versions have no repository.
      repo_id: this.#seldom(20) ? 0 : (this.#anyRepository()?.id ?? 0),
      issue_id: of === 'issue' || of === 'comment' ? 1 : 0,
      comment_id: of === 'comment' ? 1 : 0,
      release_id: of === 'release' ? 1 : 0,
      size: this.#write(this.#attachmentAt(uuid)),
    });
  }

  /** A draft gets its issue or its release, or somebody deletes one. */
  #changeAttachment(): void {
    const any = this.#attachments.any(this.#random);
    if (any === undefined) return;
    if (any.issue_id === 0 && any.release_id === 0 && this.#seldom(2)) {
      const isOfRelease = this.#seldom(2);
      this.#attachments.change(any.id, isOfRelease ? { release_id: 1 } : { issue_id: 1 });
      return;
    }
    this.#attachments.remove(({ id }) => id === any.id);
    this.#removeFile(this.#attachmentAt(any.uuid));
  }

  #addArtifact(): void {
    const path = `1/${this.#hash()}.chunk`;
    const size = this.#write(this.#artifactAt(path));
    this.#artifacts.add({
      run_id: this.#lastHash,
      repo_id: this.#anyRepository()?.id ?? 0,
      file_size: 2 * size,
      file_compressed_size: size,
      status: oneOf([pending, confirmed, confirmed], this.#random),
      storage_path: path,
    });
  }

  #changeArtifact(): void {
    const any = this.#artifacts.any(this.#random);
    if (any === undefined) return;
    const next: Readonly<Record<number, readonly number[]>> = {
      [pending]: [confirmed, failed],
      [confirmed]: [expired, waiting],
      [waiting]: [deleted],
    };
    const states = next[any.status];
    if (states === undefined) this.#artifacts.remove(({ id }) => id === any.id);
    else {
      const status = oneOf(states, this.#random);
      this.#artifacts.change(any.id, { status });
      if (status === expired || status === deleted) this.#removeFile(this.#artifactAt(any.storage_path));
    }
  }

  /** Into a package that is there, or a new one; a third are blobs that are there, too. */
  #addPackageFile(): void {
    const version = this.#seldom(2) ? this.#versions.any(this.#random) : this.#addVersion();
    if (version === undefined) return;
    const blob = (this.#seldom(3) ? this.#blobs.any(this.#random) : undefined) ?? this.#addBlob();
    const name = `file-${this.#lastHash++}`;
    const row = { version_id: version.id, blob_id: blob.id, name, lower_name: name, created_unix: 1 };
    this.#files.add(row);
  }

  #addVersion() {
    const known = this.#seldom(2) ? this.#packages.any(this.#random) : this.#addPackage();
    if (known === undefined) return undefined;
    const version = `1.${this.#lastHash++}`;
    return this.#versions.add({ package_id: known.id, version, lower_version: version, created_unix: 1 });
  }

  #addPackage() {
    const owner = this.#users.any(this.#random);
    if (owner === undefined) return undefined;
    const name = `package-${this.#lastHash++}`;
    const repository = this.#seldom(2) ? (this.#anyRepository()?.id ?? 0) : 0;
    return this.#packages.add({
      owner_id: owner.id,
      repo_id: repository,
      type: 'generic',
      name,
      lower_name: name,
    });
  }

  #addBlob() {
    const hash = this.#hash();
    return this.#blobs.add({
      size: this.#write(this.#blobAt(hash)),
      hash_md5: hash,
      hash_sha1: hash,
      hash_sha256: hash,
      hash_sha512: hash,
      created_unix: 1,
    });
  }

  #removePackage(id: number): void {
    this.#packages.remove(row => row.id === id);
    for (const version of this.#versions.remove(row => row.package_id === id))
      this.#files.remove(row => row.version_id === version.id);
  }

  /** A file, a version or a package, whose blobs stay for a while; seldom only the package's own row. */
  #removeFromPackages(): void {
    const kind = this.#random(10);
    const file = this.#files.any(this.#random);
    if (file === undefined) return;
    const { id: version = 0, package_id: ofPackage = 0 } = this.#versions.rows.get(file.version_id) ?? {};
    if (kind === 0) this.#packages.remove(({ id }) => id === ofPackage);
    else if (kind < 4) this.#removePackage(ofPackage);
    else if (kind < 7) {
      this.#versions.remove(({ id }) => id === version);
      this.#files.remove(row => row.version_id === version);
    } else this.#files.remove(({ id }) => id === file.id);
  }

  /** A blob that no file has, and seldom one that a file still has. */
  #cleanUpBlobs(): void {
    const used = new Set(this.#files.all.map(row => row.blob_id));
    const isAny = this.#seldom(6);
    const blob = this.#blobs.any(this.#random, ({ id }) => isAny || !used.has(id));
    if (blob === undefined) return;
    this.#blobs.remove(({ id }) => id === blob.id);
    this.#removeFile(this.#blobAt(blob.hash_sha256));
  }

  #loseFile(): void {
    if (this.#written.size > 0) rmSync(oneOf([...this.#written.keys()], this.#random), { force: true });
  }

  /** Writes a size that no forge writes into a row. */
  #spoil(): void {
    const size = oneOf(oddSizes, this.#random);
    this.#setSize(
      oneOf(['lfs_meta_object', 'attachment', 'action_artifact', 'package_blob'], this.#random),
      size,
    );
  }

  #mend(): void {
    this.#setSize(
      oneOf(['lfs_meta_object', 'attachment', 'action_artifact', 'package_blob'], this.#random),
      null,
    );
  }

  /** Of a row with a good size; null: of one with an odd size, which becomes that of its file. */
  #setSize(table: Sized, to: number | null): void {
    const isMeant = (size: number) => (to === null) === (size < 0 || size > largest);
    const sizeAt = (path: string) => to ?? this.#written.get(path) ?? 0;
    if (table === 'action_artifact') {
      const row = this.#artifacts.any(this.#random, each => isMeant(each.file_compressed_size));
      if (row === undefined) return;
      this.#artifacts.change(row.id, { file_compressed_size: sizeAt(this.#artifactAt(row.storage_path)) });
    } else if (table === 'attachment') {
      const row = this.#attachments.any(this.#random, each => isMeant(each.size));
      if (row !== undefined) this.#attachments.change(row.id, { size: sizeAt(this.#attachmentAt(row.uuid)) });
    } else if (table === 'package_blob') {
      const row = this.#blobs.any(this.#random, each => isMeant(each.size));
      if (row !== undefined) this.#blobs.change(row.id, { size: sizeAt(this.#blobAt(row.hash_sha256)) });
    } else {
      const row = this.#objects.any(this.#random, each => isMeant(each.size));
      if (row !== undefined) this.#objects.change(row.id, { size: sizeAt(this.#objectAt(row.oid)) });
    }
  }
}
