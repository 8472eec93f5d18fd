/**
 * Tables of GitLab. Owners are namespaces, and no path shows the owner of a repository: projects and snippets
 * are at the SHA-256 of their id, and data that forks share is in a pool.
 */

import { createHash } from 'node:crypto';
import { eachRow, type ForgeDatabase, flagAt, numberAt, textAt } from '../database.ts';
import {
  addMember,
  type ForgeSchema,
  membersById,
  type NeededColumns,
  objectIn,
  PartSums,
  type PlacedRepository,
  type RowOwners,
  readObjects,
} from '../forge-schema.ts';
import {
  type Claim,
  type ForgeMembers,
  type ForgeOwner,
  type ForgeSettings,
  type LfsObject,
  mostLfsObjects,
} from '../messages.ts';
import { eachReplica, replicatedPlace } from './praefect.ts';

export function gitlabSchema(level: ForgeSettings['ownerLevel']): ForgeSchema {
  const namespaces = new Namespaces(level);
  let snippets = new Map<number, number>();
  return {
    needed: gitlabTables,
    versionTable: 'schema_migrations',
    accountTables: ['namespaces', 'users', 'members'],
    // A group that moves takes its projects along.
    repositoryTables: ['projects', 'namespaces', 'snippets', 'pool_repositories'],
    tellsOwners: true,
    byteParts: {
      lfs: {
        tables: ['lfs_objects', 'lfs_objects_projects'],
        isByRepository: true,
        count: countGitlabLfs,
      },
      uploads: {
        tables: ['uploads', 'namespaces', 'snippets'],
        isByRepository: true,
        count: (db, whose) => countUploads(db, whose, namespaces, snippets),
      },
      artifacts: {
        tables: [...artifactTables, 'ci_pipeline_artifacts'],
        isByRepository: true,
        count: countGitlabArtifacts,
      },
      packages: {
        tables: ['packages_packages', 'packages_package_files'],
        isByRepository: true,
        count: countGitlabPackages,
      },
    },
    eachOwner: (db, take) => eachGitlabOwner(db, namespaces, take),
    members: db => gitlabMembers(db, namespaces),
    eachRepository: (db, _owners, take) => {
      snippets = new Map<number, number>();
      return eachPlaced(db, namespaces, snippets, take);
    },
    lfsObjects: projectLfsObjects,
  };
}

async function countGitlabLfs(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const objects = await readObjects(db, 'lfs_objects', gitlabTables.lfs_objects);
  await eachRow(db, 'lfs_objects_projects', gitlabTables.lfs_objects_projects, (_, row) =>
    objects.addOwner(numberAt(row, 1), whose.repositories.get(numberAt(row, 2))),
  );
  return objects.sums('size:git:lfs', whose, 'lfs_orphaned');
}

/**
 * Counts uploaded files, which belong to a project, a group, a user or a snippet. `snippets` has owners by
 * snippet.
 */
async function countUploads(
  db: ForgeDatabase,
  whose: RowOwners,
  namespaces: Namespaces,
  snippets: ReadonlyMap<number, number>,
): Promise<PartSums> {
  const leaf = 'size:assets:attachments:issues';
  const sums = new PartSums([leaf], whose);
  const ownerOf = (type: string, id: number): number | undefined => {
    switch (type) {
      case 'Project':
        return whose.repositories.get(id);
      case 'Namespace':
        return namespaces.ownerIdOf(id);
      case 'User':
        return namespaces.ownerIdOfUser(id);
      case 'Snippet':
        return snippets.get(id);
      default:
        return undefined;
    }
  };
  await eachRow(db, 'uploads', gitlabTables.uploads, (_, row) => {
    const owner = ownerOf(textAt(row, 2), numberAt(row, 3));
    sums.add(leaf, owner, numberAt(row, 1), 'attachments_orphaned');
  });
  return sums;
}

/** Counts artifacts, whose rows are deleted with their files. */
async function countGitlabArtifacts(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const leaf = 'size:assets:artifacts';
  const sums = new PartSums([leaf], whose);
  const present = await db.columns(artifactTables);
  const jobs = artifactTables.find(table => present.has(table)) ?? artifactTables[0];
  for (const table of [jobs, 'ci_pipeline_artifacts']) {
    await eachRow(db, table, gitlabTables.ci_pipeline_artifacts, (_, row) => {
      sums.add(leaf, whose.repositories.get(numberAt(row, 1)), numberAt(row, 2), 'artifacts_orphaned');
    });
  }
  return sums;
}

/** Counts files of packages. Each is stored separately, even if another one has the same content. */
async function countGitlabPackages(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const leaf = 'size:assets:packages:all';
  const sums = new PartSums([leaf], whose);
  const projects = new Map<number, number>();
  await eachRow(db, 'packages_packages', gitlabTables.packages_packages, (id, row) =>
    projects.set(id, numberAt(row, 1)),
  );
  await eachRow(db, 'packages_package_files', gitlabTables.packages_package_files, (_, row) => {
    const project = projects.get(numberAt(row, 1));
    const owner = project === undefined ? undefined : whose.repositories.get(project);
    sums.add(leaf, owner, numberAt(row, 2), 'packages_orphaned');
  });
  return sums;
}

/** The value of `visibility_level` for everybody. */
const publicLevel = 20;
/** An id that no namespace has. */
const noOwner = 0;
/** Limit in characters; GitLab itself allows less for a whole path. */
const longestTitle = 1000;

/** Passes on the repositories, and the replicas of a Gitaly Cluster with the same owners. */
async function eachPlaced(
  db: ForgeDatabase,
  namespaces: Namespaces,
  snippets: Map<number, number>,
  take: (repository: PlacedRepository) => void,
): Promise<void> {
  if (db.praefect === undefined) return eachGitlabRepository(db, namespaces, snippets, take);
  const claims = new Map<string, readonly Claim[]>();
  await eachGitlabRepository(db, namespaces, snippets, repository => {
    claims.set(repository.name, repository.claims);
    take(repository);
  });
  await eachReplica(db.praefect, ({ path, place: { name, beside }, isBilled }) => {
    const isOther = { isWiki: beside === '.wiki', ...(isBilled ? {} : { ownerId: null }) };
    const all = claims.get(name) ?? [];
    const named = all.map(claim => ({ ...claim, title: `${claim.title}${beside}`, ...isOther }));
    take({ id: null, name: path, claims: named });
  });
}

/**
 * Passes on the repositories, first the projects, which have an id. Fills `snippets` with owners by snippet.
 */
async function eachGitlabRepository(
  db: ForgeDatabase,
  namespaces: Namespaces,
  snippets: Map<number, number>,
  take: (repository: PlacedRepository) => void,
): Promise<void> {
  const projects = new Map<number, Claim>();
  /** By pool and then by owner: of all the projects of the owner in the pool, the one with the lowest id. */
  const pools = new Map<number, Map<number, Claim>>();
  await eachRow(db, 'projects', gitlabTables.projects, (id, row) => {
    const namespace = numberAt(row, 1);
    const claim = {
      ownerId: namespaces.ownerIdOf(namespace) ?? noOwner,
      isPublic: numberAt(row, 2) === publicLevel,
      title: `${namespaces.fullPathOf(namespace)}/${textAt(row, 3)}`.slice(0, longestTitle),
      isInherited: false,
      isWiki: false,
    };
    projects.set(id, claim);
    const pool = numberAt(row, 4);
    if (pool !== 0) {
      const members = pools.get(pool) ?? new Map<number, Claim>();
      pools.set(pool, members);
      if (!members.has(claim.ownerId)) members.set(claim.ownerId, claim);
    }
    take({ id, name: placeOf('@hashed', id), claims: [claim] });
  });
  await eachRow(db, 'snippets', gitlabTables.snippets, (id, row) => {
    const [author, project] = [numberAt(row, 1), numberAt(row, 2)];
    const authorId = namespaces.ownerIdOfUser(author) ?? noOwner;
    const of = projects.get(project);
    const ownerId = (project === 0 ? authorId : of?.ownerId) ?? noOwner;
    snippets.set(id, ownerId);
    const above = project === 0 ? namespaces.fullPathOf(authorId) : (of?.title ?? '');
    const title = `${above}/snippets/${id}`;
    const isPublic = numberAt(row, 3) === publicLevel;
    take({
      id: null,
      name: placeOf('@snippets', id),
      claims: [{ ownerId, isPublic, title, isInherited: false, isWiki: false }],
    });
  });
  await eachRow(db, 'pool_repositories', gitlabTables.pool_repositories, (id, row) => {
    const hash = textAt(row, 1).split('/').at(-1) ?? '';
    const source = projects.get(numberAt(row, 2));
    const heirs = [...(pools.get(id)?.values() ?? [])].map(member => ({ ...member, isInherited: true }));
    const claims = (source === undefined ? heirs : [source]).map(claim => ({
      ...claim,
      title: `pool of ${claim.title}`,
    }));
    take({ id: null, name: `@pools/${hash}`, claims });
  });
}

/** Finds the id of the project whose repositories are at this place; null if there is none. */
async function projectIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
  let found: number | null = null;
  // A hash cannot be reversed, so all ids are hashed; a million take a second.
  await eachRow(db, 'projects', ['id'], id => {
    if (placeOf('@hashed', id) === name) found = id;
  });
  return found;
}

function placeOf(kind: string, id: number): string {
  return `${kind}/${createHash('sha256').update(String(id)).digest('hex')}`;
}

async function projectLfsObjects(db: ForgeDatabase, name: string): Promise<readonly LfsObject[]> {
  const place = await replicatedPlace(db, name);
  const id = place.beside === '' ? await projectIdOf(db, place.name) : null;
  if (id === null) return [];
  const rows = await db.rows(
    `SELECT DISTINCT o.oid, o.size FROM lfs_objects_projects p JOIN lfs_objects o ON o.id = p.lfs_object_id WHERE p.project_id = ? AND NOT EXISTS (SELECT 1 FROM lfs_objects_projects q WHERE q.lfs_object_id = p.lfs_object_id AND q.project_id <> p.project_id) ORDER BY o.size DESC LIMIT ${mostLfsObjects}`,
    [id],
  );
  return rows.map(objectIn);
}

interface Namespace {
  readonly id: number;
  readonly path: string;
  readonly isGroup: boolean;
  /** 0 for a top-level namespace. */
  readonly parentId: number;
  /** The user of a personal namespace; 0 for a group. */
  readonly userId: number;
}

/** GitLab allows 20 levels; more are a cycle in a damaged database. */
const mostLevels = 50;

/** Users and groups, and the owners of data in subgroups. */
class Namespaces {
  readonly #level: ForgeSettings['ownerLevel'];
  #all = new Map<number, Namespace>();
  #byUser = new Map<number, number>();

  constructor(level: ForgeSettings['ownerLevel']) {
    this.#level = level;
  }

  async read(db: ForgeDatabase): Promise<void> {
    const all = new Map<number, Namespace>();
    const byUser = new Map<number, number>();
    await eachRow(db, 'namespaces', gitlabTables.namespaces, (id, row) => {
      const type = textAt(row, 2);
      // Each project has a namespace of its own, which owns nothing.
      if (type === 'Project') return;
      const isGroup = type === 'Group';
      const userId = isGroup ? 0 : numberAt(row, 4);
      all.set(id, { id, path: textAt(row, 1), isGroup, parentId: numberAt(row, 3), userId });
      if (userId !== 0) byUser.set(userId, id);
    });
    this.#all = all;
    this.#byUser = byUser;
  }

  get owners(): readonly Namespace[] {
    return [...this.#all.values()].filter(({ parentId }) => this.#level !== 'top' || parentId === 0);
  }

  /** Returns the id of the owner of a namespace's data; undefined if there is none. */
  ownerIdOf(namespaceId: number): number | undefined {
    const line = this.lineOf(namespaceId);
    return this.#level === 'top' ? line.at(-1)?.id : line[0]?.id;
  }

  ownerIdOfUser(userId: number): number | undefined {
    return this.#byUser.get(userId);
  }

  /** Returns the name by which users know an owner: `group/subgroup`. */
  fullPathOf(namespaceId: number): string {
    return this.lineOf(namespaceId)
      .map(({ path }) => path)
      .reverse()
      .join('/');
  }

  /** Returns a namespace and its ancestors; empty if any of them is missing. */
  lineOf(namespaceId: number): readonly Namespace[] {
    const line: Namespace[] = [];
    for (let id = namespaceId; id !== 0; ) {
      const namespace = this.#all.get(id);
      if (namespace === undefined || line.length === mostLevels) return [];
      line.push(namespace);
      id = namespace.parentId;
    }
    return line;
  }
}

/** The value of `members.access_level` for owners. */
const ownerAccess = 50;

/** Reads the owners, and the namespaces again. */
async function eachGitlabOwner(
  db: ForgeDatabase,
  namespaces: Namespaces,
  take: (owner: ForgeOwner) => void,
): Promise<void> {
  const users = new Map<number, { readonly email: string; readonly isAdmin: boolean }>();
  await eachRow(db, 'users', gitlabTables.users, (id, row) => {
    users.set(id, { email: textAt(row, 1), isAdmin: flagAt(row, 2) });
  });
  await namespaces.read(db);
  for (const { id, isGroup, userId } of namespaces.owners) {
    const name = namespaces.fullPathOf(id);
    const user = users.get(userId);
    // A group with a missing ancestor has no name.
    if (name === '') continue;
    take({
      id,
      name,
      type: isGroup ? 'organization' : 'user',
      email: user?.email ?? '',
      isAdmin: user?.isAdmin ?? false,
      // Groups may be private; users never are.
      ...(isGroup ? { isHidden: true } : {}),
    });
  }
}

/** Reads the members of groups. They are members of the subgroups, too. */
async function gitlabMembers(db: ForgeDatabase, namespaces: Namespaces): Promise<readonly ForgeMembers[]> {
  const direct = { owners: new Map<number, Set<number>>(), all: new Map<number, Set<number>>() };
  await eachRow(db, 'members', gitlabTables.members, (_, row) => {
    const user = namespaces.ownerIdOfUser(numberAt(row, 3));
    const isRequest = textAt(row, 5) !== '';
    if (textAt(row, 1) !== 'Namespace' || user === undefined || isRequest) return;
    const group = numberAt(row, 2);
    addMember(direct.all, group, user);
    if (numberAt(row, 4) >= ownerAccess) addMember(direct.owners, group, user);
  });
  const owners = new Map<number, Set<number>>();
  const all = new Map<number, Set<number>>();
  for (const { id, isGroup } of namespaces.owners) {
    if (!isGroup) continue;
    for (const { id: above } of namespaces.lineOf(id)) {
      for (const user of direct.all.get(above) ?? []) addMember(all, id, user);
      for (const user of direct.owners.get(above) ?? []) addMember(owners, id, user);
    }
  }
  return membersById(owners, all);
}

/**
 * GitLab partitioned the table of artifacts in version 16.10; the former table is one of its partitions since
 * then.
 */
const artifactTables = ['p_ci_job_artifacts', 'ci_job_artifacts'] as const;

const gitlabTables = {
  namespaces: ['id', 'path', 'type', 'parent_id', 'owner_id'],
  users: ['id', 'email', 'admin'],
  members: ['id', 'source_type', 'source_id', 'user_id', 'access_level', 'requested_at'],
  projects: ['id', 'namespace_id', 'visibility_level', 'path', 'pool_repository_id'],
  snippets: ['id', 'author_id', 'project_id', 'visibility_level'],
  pool_repositories: ['id', 'disk_path', 'source_project_id'],
  lfs_objects: ['id', 'size', 'oid'],
  lfs_objects_projects: ['id', 'lfs_object_id', 'project_id'],
  uploads: ['id', 'size', 'model_type', 'model_id'],
  'p_ci_job_artifacts or ci_job_artifacts': ['id', 'project_id', 'size'],
  ci_pipeline_artifacts: ['id', 'project_id', 'size'],
  packages_packages: ['id', 'project_id'],
  packages_package_files: ['id', 'package_id', 'size'],
} as const satisfies NeededColumns;
