/**
 * Files of a Gitea or Forgejo below hashes and numbers: LFS objects, attachments, artifacts and packages,
 * with what failures leave behind: rows without files, files without rows, and sizes that no forge writes.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Chances, Stored } from './world.ts';

/** Owners and repositories to which rows belong. */
export interface Whose {
  anyOwner(): number | undefined;
  anyRepository(): number | undefined;
  nameOf(owner: number | undefined): string | undefined;
  ownerOf(repository: number): string | undefined;
}

const largest = 2 ** 50;
const oddSizes = [-1, -5, largest + 1, Number.MAX_SAFE_INTEGER];
/** The states of an artifact. */
const [pending, confirmed, failed, expired, waiting, deleted] = [1, 2, 3, 4, 5, 6] as const;

/** `data`: the forge's directory for them. */
export function giteaRows(chances: Chances, data: string, whose: Whose) {
  const { random } = chances;
  /** Files of rows, some of which are gone, with their bytes. */
  const written = new Map<string, number>();
  /** The last good sizes of rows that the daemon has seen. */
  const good = new Map<string, number>();
  let lastHash = 0;

  const objects = chances.table('lfs_meta_object', { oid: '', size: 0, repository_id: 0 });
  const attachments = chances.table('attachment', {
    uuid: '',
    repo_id: 0,
    issue_id: 0,
    comment_id: 0,
    release_id: 0,
    size: 0,
  });
  const artifacts = chances.table('action_artifact', {
    run_id: 0,
    repo_id: 0,
    file_size: 0,
    file_compressed_size: 0,
    status: 0,
    storage_path: '',
  });
  const named = { name: '', lower_name: '' };
  const packages = chances.table('package', { ...named, owner_id: 0, repo_id: 0, type: 'generic' });
  const versions = chances.table('package_version', {
    package_id: 0,
    version: '',
    lower_version: '',
    created_unix: 1,
  });
  const files = chances.table('package_file', { ...named, version_id: 0, blob_id: 0, created_unix: 1 });
  const hashes = { hash_md5: '', hash_sha1: '', hash_sha256: '', hash_sha512: '' };
  const blobs = chances.table('package_blob', { ...hashes, size: 0, created_unix: 1 });

  /** Changes with their weights. */
  const choices: readonly (readonly [number, () => void])[] = [
    [8, addLfs],
    [4, removeLfs],
    [8, attach],
    [5, changeAttachment],
    [7, addArtifact],
    [6, changeArtifact],
    [8, addPackageFile],
    [5, removeFromPackages],
    [3, cleanUpBlobs],
    [2, loseFile],
    [2, spoil],
    [1, mend],
  ];
  return { choices, forked, repositoryGone, ownerGone, stored };

  /** A fork begins with the LFS objects of its source. */
  function forked(source: number, fork: number): void {
    for (const { oid, size } of objects.where(row => row.repository_id === source))
      objects.add({ oid, size, repository_id: fork });
  }

  /** Some of what a repository had stays behind, and its packages stay with their owners. */
  function repositoryGone(id: number): void {
    if (!chances.isOneIn(6)) removeObjects(objects.remove(row => row.repository_id === id));
    if (!chances.isOneIn(6))
      for (const { uuid } of attachments.remove(row => row.repo_id === id)) removeFile(attachmentAt(uuid));
    if (!chances.isOneIn(6))
      for (const { storage_path: path } of artifacts.remove(row => row.repo_id === id))
        removeFile(artifactAt(path));
    for (const each of packages.where(row => row.repo_id === id)) packages.change(each.id, { repo_id: 0 });
  }

  function ownerGone(id: number): void {
    for (const each of packages.where(row => row.owner_id === id)) removePackage(each.id);
  }

  function stored(): readonly Stored[] {
    return [
      ...storedLfs(),
      ...attachments.all.map(({ id, repo_id: repository, release_id: release, size, uuid }) =>
        storedFile(
          `size:assets:attachments:${release === 0 ? 'issues' : 'releases'}`,
          [whose.ownerOf(repository)],
          believed(`attachment ${id}`, size),
          attachmentAt(uuid),
        ),
      ),
      ...storedArtifacts(),
      ...storedBlobs(),
    ];
  }

  function storedArtifacts(): readonly Stored[] {
    return artifacts.all.flatMap(artifact => {
      const { id, repo_id: repository, status, storage_path: path } = artifact;
      const size = believed(`artifact ${id}`, artifact.file_compressed_size);
      // A size that cannot be believed is odd in every state, and the disk says what is there.
      if (size !== null && status !== confirmed && status !== waiting) return [];
      const owners = [whose.ownerOf(repository)];
      return [storedFile('size:assets:artifacts', owners, size, artifactAt(path))];
    });
  }

  /** An object counts once for each owner who has it, and besides for nobody with each odd row. */
  function storedLfs(): readonly Stored[] {
    const rows = objects.all.map(row => ({
      ...row,
      size: believed(`object ${row.id}`, row.size),
    }));
    const [good, odd] = [rows.filter(({ size }) => size !== null), rows.filter(({ size }) => size === null)];
    return [
      ...[...Map.groupBy(good, ({ oid }) => oid)].map(([oid, all]) => {
        const owners = all.map(({ repository_id: id }) => whose.ownerOf(id));
        return storedFile('size:git:lfs', owners, all[0]?.size ?? null, objectAt(oid));
      }),
      ...odd.map(({ oid }) => storedFile('size:git:lfs', [], null, objectAt(oid))),
    ];
  }

  /** A blob counts once for each owner of a package that has it. */
  function storedBlobs(): readonly Stored[] {
    const filesOf = Map.groupBy(files.all, ({ blob_id: blob }) => blob);
    return blobs.all.map(({ id, size, hash_sha256: hash }) => {
      const owners = (filesOf.get(id) ?? []).map(({ version_id: version }) => {
        const { package_id: ofPackage = 0 } = versions.rows.get(version) ?? {};
        return whose.nameOf(packages.rows.get(ofPackage)?.owner_id);
      });
      const known = believed(`blob ${id}`, size);
      return storedFile('size:assets:packages:all', owners, known, blobAt(hash));
    });
  }

  /** `size`: null for one that was never good, whose file is nobody's. */
  function storedFile(
    leaf: string,
    owners: readonly (string | undefined)[],
    size: number | null,
    path: string,
  ): Stored {
    if (size === null) return { leaf, bytes: existsSync(path) ? statSync(path).size : 0, owners: [] };
    return { leaf, bytes: size, owners: [...new Set(owners.filter(owner => owner !== undefined))] };
  }

  /** The size of a row, or its last good one; null: it never had one. */
  function believed(row: string, size: number): number | null {
    if (isGood(size)) good.set(row, size);
    return good.get(row) ?? null;
  }

  function hash(): string {
    return createHash('sha256').update(String(lastHash++)).digest('hex');
  }

  function objectAt(oid: string): string {
    return join(data, 'lfs', oid.slice(0, 2), oid.slice(2, 4), oid.slice(4));
  }

  function attachmentAt(uuid: string): string {
    return join(data, 'attachments', uuid.slice(0, 1), uuid.slice(1, 2), uuid);
  }

  function artifactAt(path: string): string {
    return join(data, 'actions_artifacts', path);
  }

  function blobAt(hash: string): string {
    return join(data, 'packages', hash.slice(0, 2), hash.slice(2, 4), hash);
  }

  /** Gives the size of a file, which is the same whenever it is written. */
  function write(path: string): number {
    const bytes = written.get(path) ?? chances.size();
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.alloc(bytes));
    written.set(path, bytes);
    return bytes;
  }

  /** Some files stay behind. */
  function removeFile(path: string): void {
    if (!chances.isOneIn(6)) rmSync(path, { force: true });
  }

  function removeLfs(): void {
    const any = objects.any();
    removeObjects(objects.remove(({ id }) => id === any?.id));
  }

  function removeObjects(gone: readonly { readonly oid: string }[]): void {
    for (const { oid } of gone)
      if (objects.where(row => row.oid === oid).length === 0) removeFile(objectAt(oid));
  }

  /** A draft gets its issue or its release, or somebody deletes one. */
  function changeAttachment(): void {
    const any = attachments.any();
    if (any === undefined) return;
    if (any.issue_id === 0 && any.release_id === 0 && chances.isOneIn(2)) {
      const isOfRelease = chances.isOneIn(2);
      attachments.change(any.id, isOfRelease ? { release_id: 1 } : { issue_id: 1 });
      return;
    }
    attachments.remove(({ id }) => id === any.id);
    removeFile(attachmentAt(any.uuid));
  }

  function changeArtifact(): void {
    const any = artifacts.any();
    if (any === undefined) return;
    const next: Readonly<Record<number, readonly number[]>> = {
      [pending]: [confirmed, failed],
      [confirmed]: [expired, waiting],
      [waiting]: [deleted],
    };
    const states = next[any.status];
    if (states === undefined) artifacts.remove(({ id }) => id === any.id);
    else {
      const status = chances.oneOf(states);
      artifacts.change(any.id, { status });
      if (status === expired || status === deleted) removeFile(artifactAt(any.storage_path));
    }
  }

  /** Into a package that is there, or a new one; a third are blobs that are there, too. */
  function addPackageFile(): void {
    const version = chances.isOneIn(2) ? versions.any() : addVersion();
    if (version === undefined) return;
    const blob = (chances.isOneIn(3) ? blobs.any() : undefined) ?? addBlob();
    const name = `file-${lastHash++}`;
    const row = { version_id: version.id, blob_id: blob.id, name, lower_name: name };
    files.add(row);
  }

  function addVersion() {
    const known = chances.isOneIn(2) ? packages.any() : addPackage();
    if (known === undefined) return undefined;
    const version = `1.${lastHash++}`;
    return versions.add({ package_id: known.id, version, lower_version: version });
  }

  function addBlob() {
    const digits = hash();
    return blobs.add({
      size: write(blobAt(digits)),
      hash_md5: digits,
      hash_sha1: digits,
      hash_sha256: digits,
      hash_sha512: digits,
    });
  }

  function removePackage(id: number): void {
    packages.remove(row => row.id === id);
    for (const version of versions.remove(row => row.package_id === id))
      files.remove(row => row.version_id === version.id);
  }

  /** A file, a version or a package, whose blobs stay for a while; seldom only the package's own row. */
  function removeFromPackages(): void {
    const kind = random(10);
    const file = files.any();
    if (file === undefined) return;
    const { id: version = 0, package_id: ofPackage = 0 } = versions.rows.get(file.version_id) ?? {};
    if (kind === 0) packages.remove(({ id }) => id === ofPackage);
    else if (kind < 4) removePackage(ofPackage);
    else if (kind < 7) {
      versions.remove(({ id }) => id === version);
      files.remove(row => row.version_id === version);
    } else files.remove(({ id }) => id === file.id);
  }

  /** A blob that no file has, and seldom one that a file still has. */
  function cleanUpBlobs(): void {
    const used = new Set(files.all.map(row => row.blob_id));
    const isAny = chances.isOneIn(6);
    const blob = blobs.any(({ id }) => isAny || !used.has(id));
    if (blob === undefined) return;
    blobs.remove(({ id }) => id === blob.id);
    removeFile(blobAt(blob.hash_sha256));
  }

  function loseFile(): void {
    if (written.size > 0) rmSync(chances.oneOf([...written.keys()]), { force: true });
  }

  /** A third are objects that others have already. */
  function addLfs(): void {
    const repository = whose.anyRepository() ?? 0;
    const known = chances.isOneIn(3) ? objects.any() : undefined;
    const oid = known?.oid ?? hash();
    if (objects.all.some(row => row.oid === oid && row.repository_id === repository)) return;
    objects.add({ oid, size: write(objectAt(oid)), repository_id: repository });
  }

  function attach(): void {
    const uuid = hash().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
    const of = chances.oneOf(['issue', 'comment', 'release', 'nothing'] as const);
    attachments.add({
      uuid,
      // Rows of old versions have no repository.
      repo_id: chances.isOneIn(20) ? 0 : (whose.anyRepository() ?? 0),
      issue_id: of === 'issue' || of === 'comment' ? 1 : 0,
      comment_id: of === 'comment' ? 1 : 0,
      release_id: of === 'release' ? 1 : 0,
      size: write(attachmentAt(uuid)),
    });
  }

  function addArtifact(): void {
    const path = `1/${hash()}.chunk`;
    const size = write(artifactAt(path));
    artifacts.add({
      run_id: lastHash,
      repo_id: whose.anyRepository() ?? 0,
      file_size: 2 * size,
      file_compressed_size: size,
      status: chances.oneOf([pending, confirmed, confirmed]),
      storage_path: path,
    });
  }

  function addPackage() {
    const owner = whose.anyOwner();
    if (owner === undefined) return undefined;
    const name = `package-${lastHash++}`;
    const repository = chances.isOneIn(2) ? (whose.anyRepository() ?? 0) : 0;
    return packages.add({
      owner_id: owner,
      repo_id: repository,
      name,
      lower_name: name,
    });
  }

  /** Writes a size that no forge writes into a row. */
  function spoil(): void {
    const good = sized().filter(({ size }) => isGood(size));
    if (good.length > 0) chances.oneOf(good).set(chances.oneOf(oddSizes));
  }

  /** Gives a row the size of its file again. */
  function mend(): void {
    const odd = sized().filter(({ size }) => !isGood(size));
    if (odd.length === 0) return;
    const { path, set } = chances.oneOf(odd);
    set(written.get(path) ?? 0);
  }

  /** All rows that have a size. */
  function sized() {
    return [
      ...objects.all.map(row =>
        sizedRow(objectAt(row.oid), row.size, size => objects.change(row.id, { size })),
      ),
      ...attachments.all.map(row =>
        sizedRow(attachmentAt(row.uuid), row.size, size => attachments.change(row.id, { size })),
      ),
      ...artifacts.all.map(row =>
        sizedRow(artifactAt(row.storage_path), row.file_compressed_size, size =>
          artifacts.change(row.id, { file_compressed_size: size }),
        ),
      ),
      ...blobs.all.map(row =>
        sizedRow(blobAt(row.hash_sha256), row.size, size => blobs.change(row.id, { size })),
      ),
    ];
  }
}

function sizedRow(path: string, size: number, set: (size: number) => void) {
  return { path, size, set };
}

function isGood(size: number): boolean {
  return size >= 0 && size <= largest;
}
