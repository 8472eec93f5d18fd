/**
 * Files of a Gitea or Forgejo below hashes and numbers: LFS objects, attachments, artifacts and packages,
 * with what failures leave behind: rows without files, files without rows, and sizes that no forge writes.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Numbers, oneOf } from '../../numbers.ts';
import { isOneIn, type Stored, Table } from './world.ts';

/** Owners and repositories to which rows belong. */
export interface Whose {
  anyOwner(): number | undefined;
  anyRepository(): number | undefined;
  nameOf(owner: number | undefined): string | undefined;
  ownerOf(repository: number): string | undefined;
}

const mostSize = 5000;
const largest = 2 ** 50;
const oddSizes = [-1, -5, largest + 1, Number.MAX_SAFE_INTEGER];
/** The states of an artifact. */
const [pending, confirmed, failed, expired, waiting, deleted] = [1, 2, 3, 4, 5, 6] as const;

export class GiteaRows {
  readonly #random: Numbers;
  readonly #data: string;
  readonly #whose: Whose;
  /** Files of rows, some of which are gone, with their bytes. */
  readonly #written = new Map<string, number>();
  /** The last good sizes of rows that the daemon has seen. */
  readonly #good = new Map<string, number>();
  #lastHash = 0;

  readonly #objects: Table<{ id: number; oid: string; size: number; repository_id: number }>;
  readonly #attachments: Table<{
    id: number;
    uuid: string;
    repo_id: number;
    issue_id: number;
    comment_id: number;
    release_id: number;
    size: number;
  }>;
  readonly #artifacts: Table<{
    id: number;
    run_id: number;
    repo_id: number;
    file_size: number;
    file_compressed_size: number;
    status: number;
    storage_path: string;
  }>;
  readonly #packages: Table<{
    id: number;
    owner_id: number;
    repo_id: number;
    type: string;
    name: string;
    lower_name: string;
  }>;
  readonly #versions: Table<{
    id: number;
    package_id: number;
    version: string;
    lower_version: string;
    created_unix: number;
  }>;
  readonly #files: Table<{
    id: number;
    version_id: number;
    blob_id: number;
    name: string;
    lower_name: string;
    created_unix: number;
  }>;
  readonly #blobs: Table<{
    id: number;
    size: number;
    hash_md5: string;
    hash_sha1: string;
    hash_sha256: string;
    hash_sha512: string;
    created_unix: number;
  }>;

  /** `data`: the forge's directory for them. */
  constructor(random: Numbers, data: string, statements: string[], whose: Whose) {
    this.#random = random;
    this.#data = data;
    this.#whose = whose;
    this.#objects = new Table('lfs_meta_object', statements);
    this.#attachments = new Table('attachment', statements);
    this.#artifacts = new Table('action_artifact', statements);
    this.#packages = new Table('package', statements);
    this.#versions = new Table('package_version', statements);
    this.#files = new Table('package_file', statements);
    this.#blobs = new Table('package_blob', statements);
  }

  /** Changes with their weights. */
  get choices(): readonly (readonly [number, () => void])[] {
    return [
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
    ];
  }

  /** A fork begins with the LFS objects of its source. */
  forked(source: number, fork: number): void {
    for (const { oid, size } of this.#objects.where(row => row.repository_id === source))
      this.#objects.add({ oid, size, repository_id: fork });
  }

  /** Some of what a repository had stays behind, and its packages stay with their owners. */
  repositoryGone(id: number): void {
    if (!this.#isOneIn(6)) this.#removeObjects(this.#objects.remove(row => row.repository_id === id));
    if (!this.#isOneIn(6))
      for (const { uuid } of this.#attachments.remove(row => row.repo_id === id))
        this.#removeFile(this.#attachmentAt(uuid));
    if (!this.#isOneIn(6))
      for (const { storage_path: path } of this.#artifacts.remove(row => row.repo_id === id))
        this.#removeFile(this.#artifactAt(path));
    for (const each of this.#packages.where(row => row.repo_id === id))
      this.#packages.change(each.id, { repo_id: 0 });
  }

  ownerGone(id: number): void {
    for (const each of this.#packages.where(row => row.owner_id === id)) this.#removePackage(each.id);
  }

  stored(): readonly Stored[] {
    return [
      ...this.#storedLfs(),
      ...this.#attachments.all.map(({ id, repo_id: repository, release_id: release, size, uuid }) =>
        this.#storedFile(
          `size:assets:attachments:${release === 0 ? 'issues' : 'releases'}`,
          [this.#whose.ownerOf(repository)],
          this.#believed(`attachment ${id}`, size),
          this.#attachmentAt(uuid),
        ),
      ),
      ...this.#storedArtifacts(),
      ...this.#storedBlobs(),
    ];
  }

  #storedArtifacts(): readonly Stored[] {
    return this.#artifacts.all.flatMap(artifact => {
      const { id, repo_id: repository, status, storage_path: path } = artifact;
      const size = this.#believed(`artifact ${id}`, artifact.file_compressed_size);
      // A size that cannot be believed is odd in every state, and the disk says what is there.
      if (size !== null && status !== confirmed && status !== waiting) return [];
      const owners = [this.#whose.ownerOf(repository)];
      return [this.#storedFile('size:assets:artifacts', owners, size, this.#artifactAt(path))];
    });
  }

  /** An object counts once for each owner who has it, and besides for nobody with each odd row. */
  #storedLfs(): readonly Stored[] {
    const rows = this.#objects.all.map(row => ({
      ...row,
      size: this.#believed(`object ${row.id}`, row.size),
    }));
    const [good, odd] = [rows.filter(({ size }) => size !== null), rows.filter(({ size }) => size === null)];
    return [
      ...[...Map.groupBy(good, ({ oid }) => oid)].map(([oid, all]) => {
        const owners = all.map(({ repository_id: id }) => this.#whose.ownerOf(id));
        return this.#storedFile('size:git:lfs', owners, all[0]?.size ?? null, this.#objectAt(oid));
      }),
      ...odd.map(({ oid }) => this.#storedFile('size:git:lfs', [], null, this.#objectAt(oid))),
    ];
  }

  /** A blob counts once for each owner of a package that has it. */
  #storedBlobs(): readonly Stored[] {
    const files = Map.groupBy(this.#files.all, ({ blob_id: blob }) => blob);
    return this.#blobs.all.map(({ id, size, hash_sha256: hash }) => {
      const owners = (files.get(id) ?? []).map(({ version_id: version }) => {
        const { package_id: ofPackage = 0 } = this.#versions.rows.get(version) ?? {};
        return this.#whose.nameOf(this.#packages.rows.get(ofPackage)?.owner_id);
      });
      const believed = this.#believed(`blob ${id}`, size);
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
  #believed(row: string, size: number): number | null {
    if (isGood(size)) this.#good.set(row, size);
    return this.#good.get(row) ?? null;
  }

  #size(): number {
    return 1 + this.#random(mostSize);
  }

  #hash(): string {
    return createHash('sha256')
      .update(String(this.#lastHash++))
      .digest('hex');
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
    if (!this.#isOneIn(6)) rmSync(path, { force: true });
  }

  #removeLfs(): void {
    const any = this.#objects.any(this.#random);
    this.#removeObjects(this.#objects.remove(({ id }) => id === any?.id));
  }

  #removeObjects(gone: readonly { readonly oid: string }[]): void {
    for (const { oid } of gone)
      if (this.#objects.where(row => row.oid === oid).length === 0) this.#removeFile(this.#objectAt(oid));
  }

  /** A draft gets its issue or its release, or somebody deletes one. */
  #changeAttachment(): void {
    const any = this.#attachments.any(this.#random);
    if (any === undefined) return;
    if (any.issue_id === 0 && any.release_id === 0 && this.#isOneIn(2)) {
      const isOfRelease = this.#isOneIn(2);
      this.#attachments.change(any.id, isOfRelease ? { release_id: 1 } : { issue_id: 1 });
      return;
    }
    this.#attachments.remove(({ id }) => id === any.id);
    this.#removeFile(this.#attachmentAt(any.uuid));
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
    const version = this.#isOneIn(2) ? this.#versions.any(this.#random) : this.#addVersion();
    if (version === undefined) return;
    const blob = (this.#isOneIn(3) ? this.#blobs.any(this.#random) : undefined) ?? this.#addBlob();
    const name = `file-${this.#lastHash++}`;
    const row = { version_id: version.id, blob_id: blob.id, name, lower_name: name, created_unix: 1 };
    this.#files.add(row);
  }

  #addVersion() {
    const known = this.#isOneIn(2) ? this.#packages.any(this.#random) : this.#addPackage();
    if (known === undefined) return undefined;
    const version = `1.${this.#lastHash++}`;
    return this.#versions.add({ package_id: known.id, version, lower_version: version, created_unix: 1 });
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
    const isAny = this.#isOneIn(6);
    const blob = this.#blobs.any(this.#random, ({ id }) => isAny || !used.has(id));
    if (blob === undefined) return;
    this.#blobs.remove(({ id }) => id === blob.id);
    this.#removeFile(this.#blobAt(blob.hash_sha256));
  }

  #loseFile(): void {
    if (this.#written.size > 0) rmSync(oneOf([...this.#written.keys()], this.#random), { force: true });
  }

  #isOneIn(times: number): boolean {
    return isOneIn(times, this.#random);
  }

  /** A third are objects that others have already. */
  #addLfs(): void {
    const repository = this.#whose.anyRepository() ?? 0;
    const known = this.#isOneIn(3) ? this.#objects.any(this.#random) : undefined;
    const oid = known?.oid ?? this.#hash();
    if (this.#objects.all.some(row => row.oid === oid && row.repository_id === repository)) return;
    this.#objects.add({ oid, size: this.#write(this.#objectAt(oid)), repository_id: repository });
  }

  #attach(): void {
    const uuid = this.#hash().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
    const of = oneOf(['issue', 'comment', 'release', 'nothing'] as const, this.#random);
    this.#attachments.add({
      uuid,
      // Rows of old versions have no repository.
      repo_id: this.#isOneIn(20) ? 0 : (this.#whose.anyRepository() ?? 0),
      issue_id: of === 'issue' || of === 'comment' ? 1 : 0,
      comment_id: of === 'comment' ? 1 : 0,
      release_id: of === 'release' ? 1 : 0,
      size: this.#write(this.#attachmentAt(uuid)),
    });
  }

  #addArtifact(): void {
    const path = `1/${this.#hash()}.chunk`;
    const size = this.#write(this.#artifactAt(path));
    this.#artifacts.add({
      run_id: this.#lastHash,
      repo_id: this.#whose.anyRepository() ?? 0,
      file_size: 2 * size,
      file_compressed_size: size,
      status: oneOf([pending, confirmed, confirmed], this.#random),
      storage_path: path,
    });
  }

  #addPackage() {
    const owner = this.#whose.anyOwner();
    if (owner === undefined) return undefined;
    const name = `package-${this.#lastHash++}`;
    const repository = this.#isOneIn(2) ? (this.#whose.anyRepository() ?? 0) : 0;
    return this.#packages.add({
      owner_id: owner,
      repo_id: repository,
      type: 'generic',
      name,
      lower_name: name,
    });
  }

  /** Writes a size that no forge writes into a row. */
  #spoil(): void {
    const good = this.#sized.filter(({ size }) => isGood(size));
    if (good.length > 0) oneOf(good, this.#random).set(oneOf(oddSizes, this.#random));
  }

  /** Gives a row the size of its file again. */
  #mend(): void {
    const odd = this.#sized.filter(({ size }) => !isGood(size));
    if (odd.length === 0) return;
    const { path, set } = oneOf(odd, this.#random);
    set(this.#written.get(path) ?? 0);
  }

  /** All rows that have a size. */
  get #sized() {
    return [
      ...this.#objects.all.map(({ id, size, oid }) => ({
        size,
        path: this.#objectAt(oid),
        set: (to: number) => this.#objects.change(id, { size: to }),
      })),
      ...this.#attachments.all.map(({ id, size, uuid }) => ({
        size,
        path: this.#attachmentAt(uuid),
        set: (to: number) => this.#attachments.change(id, { size: to }),
      })),
      ...this.#artifacts.all.map(({ id, file_compressed_size: size, storage_path: path }) => ({
        size,
        path: this.#artifactAt(path),
        set: (to: number) => this.#artifacts.change(id, { file_compressed_size: to }),
      })),
      ...this.#blobs.all.map(({ id, size, hash_sha256: hash }) => ({
        size,
        path: this.#blobAt(hash),
        set: (to: number) => this.#blobs.change(id, { size: to }),
      })),
    ];
  }
}

function isGood(size: number): boolean {
  return size >= 0 && size <= largest;
}
