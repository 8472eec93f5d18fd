/** A GitLab in which users, groups, projects, forks and pools come, move and go at random. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
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

/** A project, a wiki, a snippet or a pool has a directory. */
interface Directory {
  readonly path: string;
  readonly kind: 'project' | 'wiki' | 'snippet' | 'pool';
  readonly id: number;
}

const levels = [0, 10, 20];
const mostSize = 5000;
/** Few, so that a name that somebody gave up is soon another's. */
const names = Array.from({ length: 40 }, (_, at) => `name-${at}`);

export class GitlabCampaign implements Campaign {
  readonly #random: Numbers;
  readonly #level: 'top' | 'namespace';
  readonly #root: string;
  readonly #statements: string[] = [];
  readonly #directories = new Map<string, Directory>();
  /** The owners for whom pools were counted so far, by the pools' ids. */
  readonly #counted = new Map<number, number>();

  readonly #namespaces = this.#table<{
    id: number;
    path: string;
    owner_id: number | null;
    type: string;
    parent_id: number | null;
  }>('namespaces');
  readonly #users = this.#table<{ id: number; email: string; admin: boolean }>('users');
  readonly #projects = this.#table<{
    id: number;
    namespace_id: number;
    visibility_level: number;
    path: string;
    pool_repository_id: number | null;
  }>('projects');
  readonly #snippets = this.#table<{
    id: number;
    author_id: number;
    project_id: number | null;
    visibility_level: number;
  }>('snippets');
  readonly #pools = this.#table<{ id: number; disk_path: string; source_project_id: number | null }>(
    'pool_repositories',
  );
  readonly #objects = this.#table<{ id: number; oid: string; size: number }>('lfs_objects');
  readonly #links = this.#table<{ id: number; lfs_object_id: number; project_id: number }>(
    'lfs_objects_projects',
  );
  readonly #uploads = this.#table<{ id: number; size: number; model_type: string; model_id: number }>(
    'uploads',
  );
  readonly #artifacts = this.#table<{ id: number; project_id: number; size: number; partition_id: number }>(
    'p_ci_job_artifacts',
  );
  readonly #packages = this.#table<{ id: number; project_id: number }>('packages_packages');
  readonly #files = this.#table<{ id: number; package_id: number; size: number }>('packages_package_files');

  constructor(random: Numbers, root: string, level: 'top' | 'namespace') {
    this.#random = random;
    this.#level = level;
    this.#root = root;
    for (let count = 0; count < 8; count++) this.#addUser();
    for (let count = 0; count < 6; count++) this.#addGroup();
    for (let count = 0; count < 40; count++) this.#addProject();
  }

  #table<Row extends { readonly id: number } & Readonly<Record<string, number | string | boolean | null>>>(
    name: string,
  ): Table<Row> {
    return new Table<Row>(name, this.#statements);
  }

  statements(): string {
    return `BEGIN;\n${this.#statements.splice(0).join(';\n')};\nCOMMIT;`;
  }

  step(): void {
    const grows = this.#projects.rows.size < 60;
    oneByWeight(this.#random, [
      [grows ? 20 : 5, () => this.#addProject()],
      [grows ? 20 : 8, () => this.#fork()],
      [14, () => this.#onProject(({ id }) => this.#deleteProject(id))],
      [10, () => this.#transfer()],
      [4, () => this.#moveGroup()],
      [5, () => this.#rename()],
      [this.#namespaces.rows.size < 14 ? 4 : 1, () => this.#addUser()],
      [this.#namespaces.rows.size < 14 ? 4 : 1, () => this.#addGroup()],
      [1, () => this.#deleteUser()],
      [1, () => this.#deleteGroup()],
      [8, () => this.#push()],
      [6, () => this.#onProject(({ id }) => this.#addLfs(id))],
      [3, () => this.#links.remove(({ id }) => id === this.#links.any(this.#random)?.id)],
      [6, () => this.#upload()],
      [5, () => this.#onProject(({ id }) => this.#addArtifact(id))],
      [5, () => this.#onProject(({ id }) => this.#addPackage(id))],
      [4, () => this.#addSnippet()],
      [3, () => this.#deletePool()],
      [
        3,
        () =>
          this.#onProject(({ id }) => this.#projects.change(id, { visibility_level: this.#visibility() })),
      ],
    ]);
  }

  stored(): readonly Stored[] {
    return [
      ...[...this.#directories.values()].map(each => this.#storedDirectory(each)),
      ...this.#objects.all.map(({ id, size }) => {
        const projects = this.#links.where(link => link.lfs_object_id === id).map(link => link.project_id);
        return {
          leaf: 'size:git:lfs',
          bytes: size,
          owners: this.#named(projects.map(each => this.#ownerOf(each))),
        };
      }),
      ...this.#uploads.all.map(({ size, model_type: type, model_id: id }) => ({
        leaf: 'size:assets:attachments:issues',
        bytes: size,
        owners: this.#named([
          type === 'Project'
            ? this.#ownerOf(id)
            : type === 'Namespace'
              ? this.#owning(id)
              : type === 'User'
                ? this.#namespaceOfUser(id)
                : this.#ownerOfSnippet(id),
        ]),
      })),
      ...this.#artifacts.all.map(({ project_id: project, size }) => ({
        leaf: 'size:assets:artifacts',
        bytes: size,
        owners: this.#named([this.#ownerOf(project)]),
      })),
      ...this.#files.all.map(({ package_id: id, size }) => ({
        leaf: 'size:assets:packages:all',
        bytes: size,
        owners: this.#named([this.#ownerOf(this.#packages.rows.get(id)?.project_id ?? 0)]),
      })),
    ];
  }

  #storedDirectory({ path, kind, id }: Directory): Stored {
    const bytes = repositoryBytes(path);
    const project = this.#projects.rows.get(id);
    switch (kind) {
      case 'wiki':
        return { leaf: 'size:assets:wiki', bytes, owners: this.#named([this.#ownerOf(id)]) };
      case 'project':
        return { leaf: leafOf(project?.visibility_level), bytes, owners: this.#named([this.#ownerOf(id)]) };
      case 'snippet': {
        const level = this.#snippets.rows.get(id)?.visibility_level;
        return { leaf: leafOf(level), bytes, owners: this.#named([this.#ownerOfSnippet(id)]) };
      }
      case 'pool': {
        const member = this.#billed(id);
        const owner = member === undefined ? undefined : this.#owning(member.namespace_id);
        if (owner === undefined) this.#counted.delete(id);
        else this.#counted.set(id, owner);
        return { leaf: leafOf(member?.visibility_level), bytes, owners: this.#named([owner]) };
      }
    }
  }

  /** The project whose owner a pool counts for: its source, a fork of the source's owner, or any fork. */
  #billed(pool: number) {
    const source = this.#projects.rows.get(this.#pools.rows.get(pool)?.source_project_id ?? 0);
    if (source !== undefined || !this.#pools.rows.has(pool)) return source;
    const members = [...this.#projects.where(each => each.pool_repository_id === pool)].sort(
      (a, b) => a.id - b.id,
    );
    const before = this.#counted.get(pool);
    return members.find(each => this.#owning(each.namespace_id) === before) ?? members[0];
  }

  #named(owners: readonly (number | undefined)[]): readonly string[] {
    const paths = owners.map(id => this.#fullPath(id ?? 0));
    return [...new Set(paths.filter(path => path !== undefined))];
  }

  #ownerOf(project: number): number | undefined {
    return this.#owning(this.#projects.rows.get(project)?.namespace_id ?? 0);
  }

  #ownerOfSnippet(id: number): number | undefined {
    const snippet = this.#snippets.rows.get(id);
    if (snippet === undefined) return undefined;
    return snippet.project_id === null
      ? this.#namespaceOfUser(snippet.author_id)
      : this.#ownerOf(snippet.project_id);
  }

  /** The namespace that owns what is in one. */
  #owning(id: number): number | undefined {
    const namespace = this.#namespaces.rows.get(id);
    if (namespace === undefined || namespace.parent_id === null || this.#level === 'namespace')
      return namespace?.id;
    return this.#owning(namespace.parent_id);
  }

  #fullPath(id: number): string | undefined {
    const namespace = this.#namespaces.rows.get(id);
    if (namespace === undefined || namespace.parent_id === null) return namespace?.path;
    return `${this.#fullPath(namespace.parent_id)}/${namespace.path}`;
  }

  #namespaceOfUser(user: number): number | undefined {
    return this.#namespaces.where(({ owner_id: owner }) => owner === user)[0]?.id;
  }

  #size(): number {
    return 1 + this.#random(mostSize);
  }

  #visibility(): number {
    return oneOf(levels, this.#random);
  }

  #freeName(): string {
    const taken = new Set(
      this.#namespaces.where(({ parent_id: parent }) => parent === null).map(each => each.path),
    );
    return oneOf(
      names.filter(name => !taken.has(name)),
      this.#random,
    );
  }

  #addUser(): void {
    const path = this.#freeName();
    const user = this.#users.add({ email: `${path}@git.example`, admin: false });
    this.#namespaces.add({ path, owner_id: user.id, type: 'User', parent_id: null });
  }

  #addGroup(): void {
    this.#namespaces.add({ path: this.#freeName(), owner_id: null, type: 'Group', parent_id: null });
  }

  #makeDirectory(kind: Directory['kind'], id: number): string {
    const folder = { project: '@hashed', wiki: '@hashed', snippet: '@snippets', pool: '@pools' }[kind];
    const hash = createHash('sha256').update(String(id)).digest('hex');
    const place = `${folder}/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${hash}`;
    const path = join(this.#root, `${place}${kind === 'wiki' ? '.wiki' : ''}.git`);
    writeRepository(path, this.#size());
    this.#directories.set(path, { path, kind, id });
    return place;
  }

  /** Some directories stay behind, as where Gitaly could not remove them. */
  #removeDirectories(isMeant: (directory: Directory) => boolean): void {
    for (const each of [...this.#directories.values()].filter(isMeant)) {
      if (this.#random(6) === 0) continue;
      removeRepository(each.path);
      this.#directories.delete(each.path);
    }
  }

  #addProject(namespace = this.#namespaces.any(this.#random)?.id ?? 0) {
    const project = this.#projects.add({
      namespace_id: namespace,
      visibility_level: this.#visibility(),
      path: oneOf(names, this.#random),
      pool_repository_id: null,
    });
    this.#makeDirectory('project', project.id);
    if (this.#random(4) === 0) this.#makeDirectory('wiki', project.id);
    return project;
  }

  #onProject(act: (project: { readonly id: number; readonly namespace_id: number }) => void): void {
    const project = this.#projects.any(this.#random);
    if (project !== undefined) act(project);
  }

  /** A public project shares what it has with its forks by a pool, which is made at the first of them. */
  #fork(): void {
    const source = this.#projects.any(this.#random, ({ visibility_level: level }) => level > 0);
    if (source === undefined) return;
    const fork = this.#addProject();
    for (const link of this.#links.where(({ project_id: project }) => project === source.id))
      this.#links.add({ lfs_object_id: link.lfs_object_id, project_id: fork.id });
    let pool = source.pool_repository_id;
    if (pool === null) {
      pool = this.#pools.add({ disk_path: '', source_project_id: source.id }).id;
      this.#pools.change(pool, { disk_path: this.#makeDirectory('pool', pool) });
      this.#projects.change(source.id, { pool_repository_id: pool });
    }
    this.#projects.change(fork.id, { pool_repository_id: pool });
  }

  #deleteProject(id: number): void {
    this.#projects.remove(each => each.id === id);
    for (const pool of this.#pools.where(each => each.source_project_id === id))
      this.#pools.change(pool.id, { source_project_id: null });
    this.#links.remove(({ project_id: project }) => project === id);
    this.#deleteSnippets(({ project_id: project }) => project === id);
    // Rows of artifacts, of files of packages and of uploads go some time later.
    this.#packages.remove(({ project_id: project }) => project === id);
    this.#removeDirectories(each => (each.kind === 'project' || each.kind === 'wiki') && each.id === id);
  }

  #deleteSnippets(
    isMeant: (snippet: { readonly project_id: number | null; readonly author_id: number }) => boolean,
  ) {
    for (const { id } of this.#snippets.remove(isMeant))
      this.#removeDirectories(each => each.kind === 'snippet' && each.id === id);
  }

  #transfer(): void {
    const to = this.#namespaces.any(this.#random);
    if (to !== undefined) this.#onProject(({ id }) => this.#projects.change(id, { namespace_id: to.id }));
  }

  #moveGroup(): void {
    const group = this.#namespaces.any(this.#random, ({ type }) => type === 'Group');
    const above = this.#namespaces.any(this.#random, ({ type }) => type === 'Group');
    if (group === undefined || above === undefined) return;
    if (group.parent_id !== null && this.#random(2) === 0) {
      this.#namespaces.change(group.id, { parent_id: null, path: this.#freeName() });
    } else if (!this.#isWithin(above.id, group.id) && !this.#hasChild(above.id, group.path))
      this.#namespaces.change(group.id, { parent_id: above.id });
  }

  #hasChild(id: number, path: string): boolean {
    return this.#namespaces.all.some(each => each.parent_id === id && each.path === path);
  }

  #isWithin(id: number, group: number): boolean {
    const parent = this.#namespaces.rows.get(id)?.parent_id ?? null;
    return id === group || (parent !== null && this.#isWithin(parent, group));
  }

  #rename(): void {
    const namespace = this.#namespaces.any(this.#random, ({ parent_id: parent }) => parent === null);
    if (namespace !== undefined) this.#namespaces.change(namespace.id, { path: this.#freeName() });
  }

  #deleteGroup(): void {
    const group = this.#namespaces.any(this.#random, ({ type }) => type === 'Group');
    if (group === undefined) return;
    const gone = this.#namespaces.where(({ id }) => this.#isWithin(id, group.id)).map(({ id }) => id);
    this.#deleteNamespaces(gone);
  }

  #deleteUser(): void {
    const namespace = this.#namespaces.any(this.#random, ({ type }) => type === 'User');
    if (namespace === undefined || this.#users.rows.size < 4) return;
    this.#deleteSnippets(
      ({ author_id: author, project_id: project }) => project === null && author === namespace.owner_id,
    );
    this.#users.remove(({ id }) => id === namespace.owner_id);
    this.#deleteNamespaces([namespace.id]);
  }

  #deleteNamespaces(ids: readonly number[]): void {
    for (const { id } of this.#projects.where(({ namespace_id: of }) => ids.includes(of)))
      this.#deleteProject(id);
    this.#namespaces.remove(({ id }) => ids.includes(id));
  }

  #push(): void {
    if (this.#directories.size > 0)
      writeRepository(oneOf([...this.#directories.keys()], this.#random), this.#size());
  }

  #addLfs(project: number): void {
    const known = this.#objects.any(this.#random);
    const isKnown = known !== undefined && this.#random(3) === 0;
    const object = isKnown ? known : this.#objects.add({ oid: 'x', size: this.#size() });
    this.#links.add({ lfs_object_id: object.id, project_id: project });
  }

  #upload(): void {
    const models = [
      ['Project', this.#projects.any(this.#random)],
      ['Namespace', this.#namespaces.any(this.#random)],
      ['User', this.#users.any(this.#random)],
      ['Snippet', this.#snippets.any(this.#random)],
    ] as const;
    const [type, model] = oneOf(models, this.#random);
    if (model !== undefined) this.#uploads.add({ size: this.#size(), model_type: type, model_id: model.id });
  }

  #addArtifact(project: number): void {
    this.#artifacts.add({ project_id: project, size: this.#size(), partition_id: 100 + this.#random(2) });
  }

  #addPackage(project: number): void {
    const { id } = this.#packages.add({ project_id: project });
    for (let count = this.#random(3); count >= 0; count--)
      this.#files.add({ package_id: id, size: this.#size() });
  }

  #addSnippet(): void {
    const author = this.#users.any(this.#random);
    if (author === undefined) return;
    const project = this.#random(2) === 0 ? (this.#projects.any(this.#random)?.id ?? null) : null;
    const snippet = this.#snippets.add({
      author_id: author.id,
      project_id: project,
      visibility_level: this.#visibility(),
    });
    this.#makeDirectory('snippet', snippet.id);
  }

  #deletePool(): void {
    const isUsed = (pool: number) =>
      this.#projects.where(each => each.pool_repository_id === pool).length > 0;
    const pool = this.#pools.any(this.#random, ({ id }) => !isUsed(id));
    if (pool === undefined) return;
    this.#pools.remove(({ id }) => id === pool.id);
    this.#removeDirectories(({ kind, id }) => kind === 'pool' && id === pool.id);
  }
}

function leafOf(level: number | undefined): string {
  return level === 20 ? 'size:repos:public' : 'size:repos:private';
}
