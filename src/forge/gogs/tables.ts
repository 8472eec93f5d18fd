/** The tables of Gogs, as far as they are read. Gogs 0.12 to 0.14 have them; see docs/forges. */

import type { NeededColumns } from '../schema.ts';

export const gogsTables = {
  user: ['id', 'name', 'type', 'email', 'is_admin'],
  repository: ['id', 'owner_id', 'lower_name', 'is_private'],
  org_user: ['id', 'uid', 'org_id', 'is_owner'],
  lfs_object: ['repo_id', 'oid', 'size'],
  attachment: ['id', 'uuid', 'issue_id', 'release_id'],
  issue: ['id', 'repo_id'],
  release: ['id', 'repo_id'],
} as const satisfies NeededColumns;
