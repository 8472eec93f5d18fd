/**
 * A GitLab with made rows and repositories that git made, and what each owner has there by its maker's count.
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../e2e/run.ts';
import type { Rows, Tables } from './made.ts';

/**
 * Tables as db/structure.sql of GitLab 17.11 or 18.0 has them (commit 0016ea0586af of the mirror
 * gitlabhq/gitlabhq), as far as they say something of owners and bytes. That of the middle of 2021 (commit
 * 92de056eb4d8) has these columns, too. All numbers are bigint here, also where GitLab has an integer.
 */
export const gitlabTables: Tables = {
  namespaces: { id: 'key', path: 'text', owner_id: 'number', type: 'text', parent_id: 'number' },
  users: { id: 'key', email: 'text', admin: 'flag' },
  members: {
    id: 'key',
    access_level: 'number',
    source_id: 'number',
    source_type: 'text',
    user_id: 'number',
    requested_at: 'time',
  },
  projects: {
    id: 'key',
    namespace_id: 'number',
    visibility_level: 'number',
    path: 'text',
    pool_repository_id: 'number',
  },
  snippets: { id: 'key', author_id: 'number', project_id: 'number', visibility_level: 'number' },
  pool_repositories: { id: 'key', disk_path: 'text', source_project_id: 'number' },
  lfs_objects: { id: 'key', oid: 'text', size: 'number' },
  lfs_objects_projects: { id: 'key', lfs_object_id: 'number', project_id: 'number' },
  uploads: { id: 'key', size: 'number', model_type: 'text', model_id: 'number' },
  ci_pipeline_artifacts: { id: 'key', project_id: 'number', size: 'number' },
  packages_packages: { id: 'key', project_id: 'number' },
  packages_package_files: { id: 'key', package_id: 'number', size: 'number' },
  schema_migrations: { version: 'text' },
};

/** The table of artifacts is divided since 16.10; its parts are where a reader has no rights of its own. */
export const dividedArtifacts = `
  CREATE SCHEMA gitlab_partitions_dynamic;
  CREATE TABLE p_ci_job_artifacts (id bigint NOT NULL, project_id bigint NOT NULL, size bigint,
    file_type int, partition_id bigint NOT NULL, PRIMARY KEY (id, partition_id)) PARTITION BY LIST (partition_id);
  CREATE TABLE gitlab_partitions_dynamic.ci_job_artifacts_100 PARTITION OF p_ci_job_artifacts FOR VALUES IN (100);
  CREATE TABLE gitlab_partitions_dynamic.ci_job_artifacts_101 PARTITION OF p_ci_job_artifacts FOR VALUES IN (101);
`;

/** Table of artifacts before 16.10. */
export const wholeArtifacts = `
  CREATE TABLE ci_job_artifacts (id bigint PRIMARY KEY, project_id bigint NOT NULL, size bigint, file_type int,
    partition_id bigint NOT NULL);
`;

const namespaces = [
  { id: 1, path: 'Alice', user: 11 },
  { id: 2, path: 'bob', user: 12 },
  { id: 3, path: 'carol', user: 13 },
  { id: 10, path: 'team' },
  // It was moved below a group that is younger.
  { id: 9, path: 'platform', parent: 10 },
  { id: 12, path: 'deep', parent: 9 },
];

const users = [
  { id: 11, name: 'Alice', admin: true },
  { id: 12, name: 'bob', admin: false },
  { id: 13, name: 'carol', admin: false },
];

const members = [
  { group: 10, user: 11, level: 50 },
  { group: 10, user: 13, level: 10 },
  { group: 9, user: 12, level: 50 },
  { group: 10, user: 12, level: 50, requested: true },
];

const projects = [
  { id: 1, namespace: 1, level: 20 },
  { id: 2, namespace: 10, level: 10 },
  { id: 3, namespace: 9, level: 0 },
  { id: 4, namespace: 12, level: 20 },
  { id: 5, namespace: 2, level: 0 },
];

const snippets = [
  { id: 1, author: 11, project: null, level: 20 },
  { id: 2, author: 12, project: 2, level: 0 },
];

const lfs = [
  { id: 1, size: 1000, projects: [2, 3] },
  { id: 2, size: 20_000, projects: [1, 5] },
  { id: 3, size: 300, projects: [] },
  { id: 4, size: 40, projects: [99] },
  { id: 5, size: 5, projects: [4, 4] },
];

const uploads = [
  { model: 'Project', id: 1, size: 11 },
  { model: 'Namespace', id: 9, size: 220 },
  { model: 'User', id: 12, size: 3300 },
  { model: 'Snippet', id: 1, size: 44_000 },
  { model: 'Snippet', id: 2, size: 550_000 },
  { model: 'Appearance', id: 1, size: 7 },
];

const jobArtifacts = [
  { project: 3, size: 700, partition: 100 },
  { project: 4, size: 8000, partition: 101 },
  { project: 88, size: 9, partition: 101 },
];

/** Numbers rows as a table does. */
function numbered<Row extends object>(rows: readonly Row[]) {
  return rows.map((row, at) => ({ id: at + 1, ...row }));
}

export function gitlabRows(artifacts: 'p_ci_job_artifacts' | 'ci_job_artifacts'): Rows {
  return {
    namespaces: [
      ...namespaces.map(({ id, path, user = null, parent = null }) => ({
        id,
        path,
        owner_id: user,
        type: user === null ? 'Group' : 'User',
        parent_id: parent,
      })),
      ...projects.map(({ id, namespace }) => ({
        id: 100 + id,
        path: `project-${id}`,
        owner_id: null,
        type: 'Project',
        parent_id: namespace,
      })),
    ],
    users: users.map(({ id, name, admin }) => ({ id, email: `${name}@git.example`, admin })),
    members: numbered(
      members.map(({ group, user, level, requested = false }) => ({
        access_level: level,
        source_id: group,
        source_type: 'Namespace',
        user_id: user,
        requested_at: requested ? '2026-01-02 03:04:05' : null,
      })),
    ),
    projects: projects.map(({ id, namespace, level }) => ({
      id,
      namespace_id: namespace,
      visibility_level: level,
      path: `project-${id}`,
      pool_repository_id: id === 4 ? 7 : null,
    })),
    snippets: snippets.map(({ id, author, project, level }) => ({
      id,
      author_id: author,
      project_id: project,
      visibility_level: level,
    })),
    pool_repositories: [{ id: 7, disk_path: placeOf('@pools', 7), source_project_id: 4 }],
    lfs_objects: lfs.map(({ id, size }) => ({ id, oid: hashOf(id), size })),
    lfs_objects_projects: numbered(
      lfs.flatMap(({ id, projects: linked }) =>
        linked.map(project => ({ lfs_object_id: id, project_id: project })),
      ),
    ),
    uploads: numbered(uploads.map(({ model, id, size }) => ({ size, model_type: model, model_id: id }))),
    [artifacts]: numbered(
      jobArtifacts.map(({ project, size, partition }) => ({
        project_id: project,
        size,
        file_type: 1,
        partition_id: partition,
      })),
    ),
    ci_pipeline_artifacts: [{ id: 1, project_id: 2, size: 60 }],
    packages_packages: numbered([{ project_id: 4 }, { project_id: 1 }]),
    packages_package_files: numbered([
      { package_id: 1, size: 100 },
      { package_id: 1, size: 100 },
      { package_id: 2, size: 9 },
      { package_id: 2, size: null },
    ]),
    schema_migrations: [{ version: '20250101000000' }, { version: '20250601000000' }],
  };
}

type Leaves = Readonly<Record<string, number>>;

const alice: Leaves = {
  'size:git:lfs': 20_000,
  'size:assets:attachments:issues': 11 + 44_000,
  'size:assets:packages:all': 9,
};
const bob: Leaves = { 'size:git:lfs': 20_000, 'size:assets:attachments:issues': 3300 };

/** Counted from the lists above: by the top-level namespace, and by the direct one. */
export const gitlabExpected: Readonly<Record<'top' | 'namespace', Readonly<Record<string, Leaves>>>> = {
  top: {
    Alice: alice,
    bob,
    carol: {},
    team: {
      'size:git:lfs': 1000 + 5,
      'size:assets:attachments:issues': 220 + 550_000,
      'size:assets:artifacts': 700 + 8000 + 60,
      'size:assets:packages:all': 200,
    },
  },
  namespace: {
    Alice: alice,
    bob,
    carol: {},
    team: {
      'size:git:lfs': 1000,
      'size:assets:attachments:issues': 550_000,
      'size:assets:artifacts': 60,
    },
    'team/platform': {
      'size:git:lfs': 1000,
      'size:assets:attachments:issues': 220,
      'size:assets:artifacts': 700,
    },
    'team/platform/deep': {
      'size:git:lfs': 5,
      'size:assets:artifacts': 8000,
      'size:assets:packages:all': 200,
    },
  },
};

export const gitlabUnowned = [
  { reason: 'lfs_orphaned', count: 2, bytes: 340 },
  { reason: 'attachments_orphaned', count: 1, bytes: 7 },
  { reason: 'artifacts_orphaned', count: 1, bytes: 9 },
];

export function hashOf(id: number): string {
  return createHash('sha256').update(String(id)).digest('hex');
}

export function placeOf(kind: string, id: number): string {
  const hash = hashOf(id);
  return `${kind}/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${hash}`;
}

/** Repository that git made, and its owner by the lists above. */
export interface HashedRepository {
  readonly path: string;
  readonly owner: string | null;
  readonly leaf: string;
  readonly bytes: number;
}

const trees = [
  { kind: '@hashed', id: 1, suffix: '', owner: 'Alice', leaf: 'size:repos:public' },
  { kind: '@hashed', id: 2, suffix: '', owner: 'team', leaf: 'size:repos:private' },
  { kind: '@hashed', id: 2, suffix: '.wiki', owner: 'team', leaf: 'size:assets:wiki' },
  { kind: '@hashed', id: 3, suffix: '', owner: 'team', leaf: 'size:repos:private' },
  { kind: '@hashed', id: 3, suffix: '.design', owner: 'team', leaf: 'size:repos:private' },
  { kind: '@hashed', id: 4, suffix: '', owner: 'team', leaf: 'size:repos:public' },
  { kind: '@hashed', id: 5, suffix: '', owner: 'bob', leaf: 'size:repos:private' },
  { kind: '@hashed', id: 66, suffix: '', owner: null, leaf: 'size:repos:private' },
  { kind: '@snippets', id: 1, suffix: '', owner: 'Alice', leaf: 'size:repos:public' },
  { kind: '@snippets', id: 2, suffix: '', owner: 'team', leaf: 'size:repos:private' },
  { kind: '@pools', id: 7, suffix: '', owner: 'team', leaf: 'size:repos:public' },
];

/** Makes the repositories below the directory of a storage. */
export async function makeHashedTree(root: string): Promise<readonly HashedRepository[]> {
  const made: HashedRepository[] = [];
  for (const { kind, id, suffix, owner, leaf } of trees) {
    const path = join(root, `${placeOf(kind, id)}${suffix}.git`);
    mkdirSync(path, { recursive: true });
    await must('git', ['init', '--quiet', '--bare', path]);
    await must('git', ['-C', path, 'hash-object', '-w', '--stdin'], {
      input: randomBytes(1000 * made.length + 500),
    });
    made.push({ path, owner, leaf, bytes: bytesIn(path) });
  }
  return made;
}

function bytesIn(path: string): number {
  return readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
    const inner = join(path, entry.name);
    return sum + (entry.isDirectory() ? bytesIn(inner) : entry.isFile() ? statSync(inner).size : 0);
  }, 0);
}
