/**
 * The repositories of GitLab by the places where they lie: a project and a snippet under the SHA-256 of their
 * number, and what forks have in common in a pool.
 */

import { createHash } from 'node:crypto';
import type { ForgeDatabase } from '../database.ts';
import type { ForgeRepository } from '../forge-schema.ts';
import { type LfsObject, mostLfsObjects, objectIn } from '../lfs-objects.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import { gitlabTables, type Namespaces } from './namespaces.ts';

/** The value of `visibility_level` that is open to everybody. */
const publicLevel = 20;
/** No namespace has this id. */
const noOwner = 0;

/** Gives projects first, which have an id; fills `snippets` with the ids of owners by the ids of snippets. */
export async function eachGitlabRepository(
  db: ForgeDatabase,
  namespaces: Namespaces,
  snippets: Map<number, number>,
  take: (repository: ForgeRepository) => void,
): Promise<void> {
  const owners = new Map<number, number>();
  const levels = new Map<number, number>();
  await eachRow(db, 'projects', gitlabTables.projects, (id, row) => {
    const ownerId = namespaces.ownerIdOf(numberAt(row, 1)) ?? noOwner;
    const level = numberAt(row, 2);
    owners.set(id, ownerId);
    levels.set(id, level);
    take({ id, ownerId, name: placeOf('@hashed', id), isPublic: level === publicLevel });
  });
  await eachRow(db, 'snippets', gitlabTables.snippets, (id, row) => {
    const project = numberAt(row, 2);
    const owner = project === 0 ? namespaces.ownerIdOfUser(numberAt(row, 1)) : owners.get(project);
    const ownerId = owner ?? noOwner;
    snippets.set(id, ownerId);
    const isPublic = numberAt(row, 3) === publicLevel;
    take({ id: null, ownerId, name: placeOf('@snippets', id), isPublic });
  });
  await eachRow(db, 'pool_repositories', gitlabTables.pool_repositories, (_, row) => {
    const hash = textAt(row, 1).split('/').at(-1) ?? '';
    const project = numberAt(row, 2);
    take({
      id: null,
      ownerId: owners.get(project) ?? noOwner,
      name: `@pools/${hash}`,
      isPublic: levels.get(project) === publicLevel,
    });
  });
}

/** The number of the project whose repositories lie at this place; null: it is none. */
async function projectIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
  let found: number | null = null;
  // No hash tells its number, and a million take a second.
  await eachRow(db, 'projects', ['id'], id => {
    if (placeOf('@hashed', id) === name) found = id;
  });
  return found;
}

function placeOf(kind: string, id: number): string {
  return `${kind}/${createHash('sha256').update(String(id)).digest('hex')}`;
}

/** The largest LFS objects of a project that no other project has. */
export async function projectLfsObjects(db: ForgeDatabase, name: string): Promise<readonly LfsObject[]> {
  const id = await projectIdOf(db, name);
  if (id === null) return [];
  const rows = await db.rows(
    `SELECT DISTINCT o.oid, o.size FROM lfs_objects_projects p JOIN lfs_objects o ON o.id = p.lfs_object_id WHERE p.project_id = ? AND NOT EXISTS (SELECT 1 FROM lfs_objects_projects q WHERE q.lfs_object_id = p.lfs_object_id AND q.project_id <> p.project_id) ORDER BY o.size DESC LIMIT ${mostLfsObjects}`,
    [id],
  );
  return rows.map(objectIn);
}
