/** The LFS objects of a project of GitLab, whose rows are in two tables. */

import type { ForgeDatabase } from '../database.ts';
import { type LfsObject, mostLfsObjects, objectIn } from '../lfs-objects.ts';
import { projectIdOf } from './repositories.ts';

/** The largest that no other project has. */
export async function projectLfsObjects(db: ForgeDatabase, name: string): Promise<readonly LfsObject[]> {
  const id = await projectIdOf(db, name);
  if (id === null) return [];
  const rows = await db.rows(
    `SELECT DISTINCT o.oid, o.size FROM lfs_objects_projects p JOIN lfs_objects o ON o.id = p.lfs_object_id WHERE p.project_id = ? AND NOT EXISTS (SELECT 1 FROM lfs_objects_projects q WHERE q.lfs_object_id = p.lfs_object_id AND q.project_id <> p.project_id) ORDER BY o.size DESC LIMIT ${mostLfsObjects}`,
    [id],
  );
  return rows.map(objectIn);
}
