/** A GitLab in which users, groups, projects, forks and pools come, move and go at random. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import {
  type Campaign,
  type Chances,
  removeRepository,
  repositoryBytes,
  type Stored,
  writeRepository,
} from './world.ts';

/** A project, a wiki, a snippet or a pool has a directory. */
interface Directory {
  readonly path: string;
  readonly kind: 'project' | 'wiki' | 'snippet' | 'pool';
  readonly id: number;
}

const levels = [0, 10, 20];
/** Few, so that a name that somebody gave up is soon another's. */
const names = Array.from({ length: 40 }, (_, at) => `name-${at}`);

export function gitlabCampaign(chances: Chances, root: string, level: 'top' | 'namespace'): Campaign {
  const { random } = chances;
  const directories = new Map<string, Directory>();
  /** The owners for whom pools were counted so far, by the pools' ids. */
  const counted = new Map<number, number>();
  const noNumber = null as number | null; // also for rows that have one

  const namespaces = chances.table('namespaces', {
    path: '',
    owner_id: noNumber,
    type: 'Group',
    parent_id: noNumber,
  });
  const users = chances.table('users', { email: '', admin: false });
  const projects = chances.table('projects', {
    namespace_id: 0,
    visibility_level: 0,
    path: '',
    pool_repository_id: noNumber,
  });
  const snippets = chances.table('snippets', { author_id: 0, project_id: noNumber, visibility_level: 0 });
  const pools = chances.table('pool_repositories', { disk_path: '', source_project_id: noNumber });
  const objects = chances.table('lfs_objects', { oid: 'x', size: 0 });
  const links = chances.table('lfs_objects_projects', { lfs_object_id: 0, project_id: 0 });
  const uploads = chances.table('uploads', { size: 0, model_type: '', model_id: 0 });
  const artifacts = chances.table('p_ci_job_artifacts', { project_id: 0, size: 0, partition_id: 0 });
  const packages = chances.table('packages_packages', { project_id: 0 });
  const files = chances.table('packages_package_files', { package_id: 0, size: 0 });

  for (let count = 0; count < 8; count++) addUser();
  for (let count = 0; count < 6; count++) addGroup();
  for (let count = 0; count < 40; count++) addProject();
  return { step, stored, statements: () => chances.statements() };

  function step(): void {
    const grows = projects.rows.size < 60;
    chances.oneByWeight([
      [grows ? 20 : 5, () => addProject()],
      [grows ? 20 : 8, () => fork()],
      [14, () => onProject(({ id }) => deleteProject(id))],
      [10, () => transfer()],
      [4, () => moveGroup()],
      [5, () => rename()],
      [namespaces.rows.size < 14 ? 4 : 1, () => addUser()],
      [namespaces.rows.size < 14 ? 4 : 1, () => addGroup()],
      [1, () => deleteUser()],
      [1, () => deleteGroup()],
      [8, () => push()],
      [6, () => onProject(({ id }) => addLfs(id))],
      [3, () => links.remove(({ id }) => id === links.any()?.id)],
      [6, () => upload()],
      [5, () => onProject(({ id }) => addArtifact(id))],
      [5, () => onProject(({ id }) => addPackage(id))],
      [4, () => addSnippet()],
      [3, () => deletePool()],
      [3, () => onProject(({ id }) => projects.change(id, { visibility_level: visibility() }))],
    ]);
  }

  function stored(): readonly Stored[] {
    return [
      ...[...directories.values()].map(each => storedDirectory(each)),
      ...objects.all.map(({ id, size }) => {
        const projects = links.where(link => link.lfs_object_id === id).map(link => link.project_id);
        return {
          leaf: 'size:git:lfs',
          bytes: size,
          owners: named(projects.map(each => ownerOf(each))),
        };
      }),
      ...uploads.all.map(({ size, model_type: type, model_id: id }) => ({
        leaf: 'size:assets:attachments:issues',
        bytes: size,
        owners: named([
          type === 'Project'
            ? ownerOf(id)
            : type === 'Namespace'
              ? owning(id)
              : type === 'User'
                ? namespaceOfUser(id)
                : ownerOfSnippet(id),
        ]),
      })),
      ...artifacts.all.map(({ project_id: project, size }) => ({
        leaf: 'size:assets:artifacts',
        bytes: size,
        owners: named([ownerOf(project)]),
      })),
      ...files.all.map(({ package_id: id, size }) => ({
        leaf: 'size:assets:packages:all',
        bytes: size,
        owners: named([ownerOf(packages.rows.get(id)?.project_id ?? 0)]),
      })),
    ];
  }

  function storedDirectory({ path, kind, id }: Directory): Stored {
    const bytes = repositoryBytes(path);
    const project = projects.rows.get(id);
    switch (kind) {
      case 'wiki':
        return { leaf: 'size:assets:wiki', bytes, owners: named([ownerOf(id)]) };
      case 'project':
        return { leaf: leafOf(project?.visibility_level), bytes, owners: named([ownerOf(id)]) };
      case 'snippet': {
        const level = snippets.rows.get(id)?.visibility_level;
        return { leaf: leafOf(level), bytes, owners: named([ownerOfSnippet(id)]) };
      }
      case 'pool': {
        const member = billed(id);
        const owner = member === undefined ? undefined : owning(member.namespace_id);
        if (owner === undefined) counted.delete(id);
        else counted.set(id, owner);
        return { leaf: leafOf(member?.visibility_level), bytes, owners: named([owner]) };
      }
    }
  }

  /** The project whose owner a pool counts for: its source, a fork of the source's owner, or any fork. */
  function billed(pool: number) {
    const source = projects.rows.get(pools.rows.get(pool)?.source_project_id ?? 0);
    if (source !== undefined || !pools.rows.has(pool)) return source;
    const members = [...projects.where(each => each.pool_repository_id === pool)].sort((a, b) => a.id - b.id);
    const before = counted.get(pool);
    return members.find(each => owning(each.namespace_id) === before) ?? members[0];
  }

  function named(owners: readonly (number | undefined)[]): readonly string[] {
    const paths = owners.map(id => fullPath(id ?? 0));
    return [...new Set(paths.filter(path => path !== undefined))];
  }

  function ownerOf(project: number): number | undefined {
    return owning(projects.rows.get(project)?.namespace_id ?? 0);
  }

  function ownerOfSnippet(id: number): number | undefined {
    const snippet = snippets.rows.get(id);
    if (snippet === undefined) return undefined;
    return snippet.project_id === null ? namespaceOfUser(snippet.author_id) : ownerOf(snippet.project_id);
  }

  /** The namespace that owns what is in one. */
  function owning(id: number): number | undefined {
    const namespace = namespaces.rows.get(id);
    if (namespace === undefined || namespace.parent_id === null || level === 'namespace')
      return namespace?.id;
    return owning(namespace.parent_id);
  }

  function fullPath(id: number): string | undefined {
    const namespace = namespaces.rows.get(id);
    if (namespace === undefined || namespace.parent_id === null) return namespace?.path;
    return `${fullPath(namespace.parent_id)}/${namespace.path}`;
  }

  function namespaceOfUser(user: number): number | undefined {
    return namespaces.where(({ owner_id: owner }) => owner === user)[0]?.id;
  }

  function visibility(): number {
    return chances.oneOf(levels);
  }

  function freeName(): string {
    const taken = new Set(
      namespaces.where(({ parent_id: parent }) => parent === null).map(each => each.path),
    );
    return chances.oneOf(names.filter(name => !taken.has(name)));
  }

  function addUser(): void {
    const path = freeName();
    const user = users.add({ email: `${path}@git.example`, admin: false });
    namespaces.add({ path, owner_id: user.id, type: 'User', parent_id: null });
  }

  function addGroup(): void {
    namespaces.add({ path: freeName(), owner_id: null, type: 'Group', parent_id: null });
  }

  function makeDirectory(kind: Directory['kind'], id: number): string {
    const folder = { project: '@hashed', wiki: '@hashed', snippet: '@snippets', pool: '@pools' }[kind];
    const hash = createHash('sha256').update(String(id)).digest('hex');
    const place = `${folder}/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${hash}`;
    const path = join(root, `${place}${kind === 'wiki' ? '.wiki' : ''}.git`);
    writeRepository(path, chances.size());
    directories.set(path, { path, kind, id });
    return place;
  }

  /** Some directories stay behind, as where Gitaly could not remove them. */
  function removeDirectories(isMeant: (directory: Directory) => boolean): void {
    for (const each of [...directories.values()].filter(isMeant)) {
      if (chances.isOneIn(6)) continue;
      removeRepository(each.path);
      directories.delete(each.path);
    }
  }

  function addProject(namespace = namespaces.any()?.id ?? 0) {
    const project = projects.add({
      namespace_id: namespace,
      visibility_level: visibility(),
      path: chances.oneOf(names),
      pool_repository_id: null,
    });
    makeDirectory('project', project.id);
    if (chances.isOneIn(4)) makeDirectory('wiki', project.id);
    return project;
  }

  function onProject(act: (project: { readonly id: number; readonly namespace_id: number }) => void): void {
    const project = projects.any();
    if (project !== undefined) act(project);
  }

  /** A public project shares what it has with its forks by a pool, which is made at the first of them. */
  function fork(): void {
    const source = projects.any(({ visibility_level: level }) => level > 0);
    if (source === undefined) return;
    const fork = addProject();
    for (const link of links.where(({ project_id: project }) => project === source.id))
      links.add({ lfs_object_id: link.lfs_object_id, project_id: fork.id });
    let pool = source.pool_repository_id;
    if (pool === null) {
      pool = pools.add({ disk_path: '', source_project_id: source.id }).id;
      pools.change(pool, { disk_path: makeDirectory('pool', pool) });
      projects.change(source.id, { pool_repository_id: pool });
    }
    projects.change(fork.id, { pool_repository_id: pool });
  }

  function deleteProject(id: number): void {
    projects.remove(each => each.id === id);
    for (const pool of pools.where(each => each.source_project_id === id))
      pools.change(pool.id, { source_project_id: null });
    links.remove(({ project_id: project }) => project === id);
    deleteSnippets(({ project_id: project }) => project === id);
    // Rows of artifacts, of files of packages and of uploads go some time later.
    packages.remove(({ project_id: project }) => project === id);
    removeDirectories(each => (each.kind === 'project' || each.kind === 'wiki') && each.id === id);
  }

  function deleteSnippets(
    isMeant: (snippet: { readonly project_id: number | null; readonly author_id: number }) => boolean,
  ) {
    for (const { id } of snippets.remove(isMeant))
      removeDirectories(each => each.kind === 'snippet' && each.id === id);
  }

  function transfer(): void {
    const to = namespaces.any();
    if (to !== undefined) onProject(({ id }) => projects.change(id, { namespace_id: to.id }));
  }

  function moveGroup(): void {
    const group = namespaces.any(({ type }) => type === 'Group');
    const above = namespaces.any(({ type }) => type === 'Group');
    if (group === undefined || above === undefined) return;
    if (group.parent_id !== null && chances.isOneIn(2)) {
      namespaces.change(group.id, { parent_id: null, path: freeName() });
    } else if (!isWithin(above.id, group.id) && !hasChild(above.id, group.path))
      namespaces.change(group.id, { parent_id: above.id });
  }

  function hasChild(id: number, path: string): boolean {
    return namespaces.all.some(each => each.parent_id === id && each.path === path);
  }

  function isWithin(id: number, group: number): boolean {
    const parent = namespaces.rows.get(id)?.parent_id ?? null;
    return id === group || (parent !== null && isWithin(parent, group));
  }

  function rename(): void {
    const namespace = namespaces.any(({ parent_id: parent }) => parent === null);
    if (namespace !== undefined) namespaces.change(namespace.id, { path: freeName() });
  }

  function deleteGroup(): void {
    const group = namespaces.any(({ type }) => type === 'Group');
    if (group === undefined) return;
    const gone = namespaces.where(({ id }) => isWithin(id, group.id)).map(({ id }) => id);
    deleteNamespaces(gone);
  }

  function deleteUser(): void {
    const namespace = namespaces.any(({ type }) => type === 'User');
    if (namespace === undefined || users.rows.size < 4) return;
    deleteSnippets(
      ({ author_id: author, project_id: project }) => project === null && author === namespace.owner_id,
    );
    users.remove(({ id }) => id === namespace.owner_id);
    deleteNamespaces([namespace.id]);
  }

  function deleteNamespaces(ids: readonly number[]): void {
    for (const { id } of projects.where(({ namespace_id: of }) => ids.includes(of))) deleteProject(id);
    namespaces.remove(({ id }) => ids.includes(id));
  }

  function push(): void {
    if (directories.size > 0) writeRepository(chances.oneOf([...directories.keys()]), chances.size());
  }

  function addLfs(project: number): void {
    const known = objects.any();
    const isKnown = known !== undefined && chances.isOneIn(3);
    const object = isKnown ? known : objects.add({ oid: 'x', size: chances.size() });
    links.add({ lfs_object_id: object.id, project_id: project });
  }

  function upload(): void {
    const models = [
      ['Project', projects.any()],
      ['Namespace', namespaces.any()],
      ['User', users.any()],
      ['Snippet', snippets.any()],
    ] as const;
    const [type, model] = chances.oneOf(models);
    if (model !== undefined) uploads.add({ size: chances.size(), model_type: type, model_id: model.id });
  }

  function addArtifact(project: number): void {
    artifacts.add({ project_id: project, size: chances.size(), partition_id: 100 + random(2) });
  }

  function addPackage(project: number): void {
    const { id } = packages.add({ project_id: project });
    for (let count = random(3); count >= 0; count--) files.add({ package_id: id, size: chances.size() });
  }

  function addSnippet(): void {
    const author = users.any();
    if (author === undefined) return;
    const project = chances.isOneIn(2) ? (projects.any()?.id ?? null) : null;
    const snippet = snippets.add({
      author_id: author.id,
      project_id: project,
      visibility_level: visibility(),
    });
    makeDirectory('snippet', snippet.id);
  }

  function deletePool(): void {
    const isUsed = (pool: number) => projects.where(each => each.pool_repository_id === pool).length > 0;
    const pool = pools.any(({ id }) => !isUsed(id));
    if (pool === undefined) return;
    pools.remove(({ id }) => id === pool.id);
    removeDirectories(({ kind, id }) => kind === 'pool' && id === pool.id);
  }
}

function leafOf(level: number | undefined): string {
  return level === 20 ? 'size:repos:public' : 'size:repos:private';
}
