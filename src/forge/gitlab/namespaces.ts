/** The namespaces of GitLab: users and groups, and which of them owns what is in a subgroup. */

import { eachRow, type ForgeDatabase, flagAt, numberAt, textAt } from '../database.ts';
import { addMember, membersById, type NeededColumns } from '../forge-schema.ts';
import type { ForgeMembers, ForgeOwner, OwnerLevel } from '../messages.ts';

interface Namespace {
  readonly id: number;
  readonly path: string;
  readonly isGroup: boolean;
  /** 0: it is a top-level one. */
  readonly parentId: number;
  /** The user whose namespace it is; 0 for a group. */
  readonly userId: number;
}

/** GitLab allows 20; more is a circle of a database that is half restored. */
const mostLevels = 50;

export class Namespaces {
  readonly #level: OwnerLevel;
  /** By their ids, which ascend. */
  #all = new Map<number, Namespace>();
  #byUser = new Map<number, number>();

  constructor(level: OwnerLevel) {
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

  /** Those that own data, by ascending ids. */
  get owners(): readonly Namespace[] {
    return [...this.#all.values()].filter(({ parentId }) => this.#level !== 'top' || parentId === 0);
  }

  /** The id of the owner of what is in a namespace; undefined if there is none. */
  ownerIdOf(namespaceId: number): number | undefined {
    const line = this.lineOf(namespaceId);
    return this.#level === 'top' ? line.at(-1)?.id : line[0]?.id;
  }

  ownerIdOfUser(userId: number): number | undefined {
    return this.#byUser.get(userId);
  }

  /** The name by which users know an owner: `group/subgroup`. */
  fullPathOf(namespaceId: number): string {
    return this.lineOf(namespaceId)
      .map(({ path }) => path)
      .reverse()
      .join('/');
  }

  /** A namespace and those above it; empty where there is none, or one above is missing. */
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

/** The value of `members.access_level` that owners have. */
const ownerAccess = 50;

/** Reads the namespaces again, too. */
export async function eachGitlabOwner(
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
    // A group whose parents are not all there has no name.
    if (name === '') continue;
    take({
      id,
      name,
      type: isGroup ? 'organization' : 'user',
      email: user?.email ?? '',
      isAdmin: user?.isAdmin ?? false,
    });
  }
}

/** Members of groups, who are members of the subgroups, too. */
export async function gitlabMembers(
  db: ForgeDatabase,
  namespaces: Namespaces,
): Promise<readonly ForgeMembers[]> {
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

/** GitLab divided the table of artifacts in version 16.10; the former one is a part of it since then. */
export const artifactTables = ['p_ci_job_artifacts', 'ci_job_artifacts'] as const;

export const gitlabTables = {
  namespaces: ['id', 'path', 'type', 'parent_id', 'owner_id'],
  users: ['id', 'email', 'admin'],
  members: ['id', 'source_type', 'source_id', 'user_id', 'access_level', 'requested_at'],
  projects: ['id', 'namespace_id', 'visibility_level'],
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
