/** The tables of Gitea and Forgejo, as far as they are read. Gitea 1.27.3 has them; see docs/forges. */

import type { NeededColumns } from '../schema.ts';

export const giteaTables = {
  user: ['id', 'name', 'type', 'email', 'is_admin'],
  repository: ['id', 'owner_id', 'owner_name', 'lower_name', 'is_private'],
  org_user: ['id', 'uid', 'org_id'],
  team: ['id', 'org_id', 'authorize'],
  team_user: ['id', 'team_id', 'uid'],
  lfs_meta_object: ['id', 'oid', 'size', 'repository_id'],
  attachment: ['id', 'repo_id', 'release_id', 'size'],
  action_artifact: ['id', 'repo_id', 'file_compressed_size', 'status'],
  package: ['id', 'owner_id', 'repo_id'],
  package_version: ['id', 'package_id'],
  package_file: ['id', 'version_id', 'blob_id'],
  package_blob: ['id', 'size'],
} as const satisfies NeededColumns;

/** The number that Gitea 1.27.3 has in its table `version`. */
export const triedSchemaVersion = 343;
