/** The tables of GitLab, as far as they are read; docs/forges says with which versions they were compared. */

import type { NeededColumns } from '../forge-schema.ts';

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
