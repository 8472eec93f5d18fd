/**
 * A GitLab with made rows and repositories that git made, and what each owner has there by its maker's count.
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { must } from '../e2e/run.ts';
import { type MadeDatabase, openMade, type Rows, type Tables } from './made.ts';

/**
 * Tables as db/structure.sql of GitLab 17.11 or 18.0 has them (commit 0016ea0586af of the mirror
 * gitlabhq/gitlabhq), as far as they say something of owners and bytes. That of the middle of 2021 (commit
 * 92de056eb4d8) has these columns, too. All numbers are bigint here, also where GitLab has an integer.
 */
const gitlabTables: Tables = {
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
const dividedArtifacts = `
  CREATE SCHEMA gitlab_partitions_dynamic;
  CREATE TABLE p_ci_job_artifacts (id bigint NOT NULL, project_id bigint NOT NULL, size bigint,
    file_type int, partition_id bigint NOT NULL, PRIMARY KEY (id, partition_id)) PARTITION BY LIST (partition_id);
  CREATE TABLE gitlab_partitions_dynamic.ci_job_artifacts_100 PARTITION OF p_ci_job_artifacts FOR VALUES IN (100);
  CREATE TABLE gitlab_partitions_dynamic.ci_job_artifacts_101 PARTITION OF p_ci_job_artifacts FOR VALUES IN (101);
`;

/** Table of artifacts before 16.10. */
const wholeArtifacts = `
  CREATE TABLE ci_job_artifacts (id bigint PRIMARY KEY, project_id bigint NOT NULL, size bigint, file_type int,
    partition_id bigint NOT NULL);
`;

const projects = [
  { id: 1, namespace_id: 1, visibility_level: 20 },
  { id: 2, namespace_id: 10, visibility_level: 10 },
  { id: 3, namespace_id: 9, visibility_level: 0 },
  { id: 4, namespace_id: 12, visibility_level: 20, pool_repository_id: 7 },
  { id: 5, namespace_id: 2, visibility_level: 0 },
];

const rows: Rows = {
  namespaces: [
    { id: 1, path: 'Alice', owner_id: 11, type: 'User' },
    { id: 2, path: 'bob', owner_id: 12, type: 'User' },
    { id: 3, path: 'carol', owner_id: 13, type: 'User' },
    { id: 10, path: 'team', type: 'Group' },
    // It was moved below a group that is younger.
    { id: 9, path: 'platform', parent_id: 10, type: 'Group' },
    { id: 12, path: 'deep', parent_id: 9, type: 'Group' },
    ...projects.map(({ id, namespace_id }) => ({
      id: 100 + id,
      path: `project-${id}`,
      type: 'Project',
      parent_id: namespace_id,
    })),
  ],
  users: [
    { id: 11, email: 'Alice@git.example', admin: true },
    { id: 12, email: 'bob@git.example', admin: false },
    { id: 13, email: 'carol@git.example', admin: false },
  ],
  members: numbered([
    { source_type: 'Namespace', source_id: 10, user_id: 11, access_level: 50 },
    { source_type: 'Namespace', source_id: 10, user_id: 13, access_level: 10 },
    { source_type: 'Namespace', source_id: 9, user_id: 12, access_level: 50 },
    {
      source_type: 'Namespace',
      source_id: 10,
      user_id: 12,
      access_level: 50,
      requested_at: '2026-01-02 03:04:05',
    },
  ]),
  projects: projects.map(project => ({ ...project, path: `project-${project.id}` })),
  snippets: numbered([
    { author_id: 11, project_id: null, visibility_level: 20 },
    { author_id: 12, project_id: 2, visibility_level: 0 },
  ]),
  pool_repositories: [{ id: 7, disk_path: placeOf('@pools', 7), source_project_id: 4 }],
  lfs_objects: [1000, 20_000, 300, 40, 5].map((size, at) => ({ id: at + 1, oid: hashOf(at + 1), size })),
  lfs_objects_projects: numbered([
    { lfs_object_id: 1, project_id: 2 },
    { lfs_object_id: 1, project_id: 3 },
    { lfs_object_id: 2, project_id: 1 },
    { lfs_object_id: 2, project_id: 5 },
    { lfs_object_id: 4, project_id: 99 },
    { lfs_object_id: 5, project_id: 4 },
    { lfs_object_id: 5, project_id: 4 },
  ]),
  uploads: numbered([
    { model_type: 'Project', model_id: 1, size: 11 },
    { model_type: 'Namespace', model_id: 9, size: 220 },
    { model_type: 'User', model_id: 12, size: 3300 },
    { model_type: 'Snippet', model_id: 1, size: 44_000 },
    { model_type: 'Snippet', model_id: 2, size: 550_000 },
    { model_type: 'Appearance', model_id: 1, size: 7 },
  ]),
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

const jobArtifacts = numbered([
  { project_id: 3, size: 700, file_type: 1, partition_id: 100 },
  { project_id: 4, size: 8000, file_type: 1, partition_id: 101 },
  { project_id: 88, size: 9, file_type: 1, partition_id: 101 },
]);

/** Numbers rows as a table does. */
function numbered<Row extends object>(rows: readonly Row[]) {
  return rows.map((row, at) => ({ id: at + 1, ...row }));
}

interface GitlabOptions {
  /** Form of the table of artifacts, which is divided since 16.10. */
  readonly artifacts?: 'divided' | 'whole';
  /** Rows in place of those above. */
  readonly rows?: Rows;
  /** Further statements, before the rows. */
  readonly more?: string;
}

/** A database of GitLab in a PostgreSQL. */
export function openGitlab(
  t: Test,
  { artifacts = 'divided', rows: others, more = '' }: GitlabOptions = {},
): Promise<MadeDatabase> {
  const [table, sql] =
    artifacts === 'divided' ? ['p_ci_job_artifacts', dividedArtifacts] : ['ci_job_artifacts', wholeArtifacts];
  return openMade(t, 'postgres', gitlabTables, others ?? { ...rows, [table]: jobArtifacts }, sql + more);
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

export function hashOf(id: number | string): string {
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
