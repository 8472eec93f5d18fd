/**
 * The repositories of GitLab by the places where they lie: a project and a snippet under the SHA-256 of their
 * number, and what forks have in common in a pool.
 */

import { createHash } from 'node:crypto';
import type { ForgeDatabase } from '../database.ts';
import type { ForgeRepository } from '../forge-schema.ts';
import { IdTable } from '../id-table.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import type { Namespaces } from './namespaces.ts';
import { gitlabTables } from './tables.ts';

/** The value of `visibility_level` that is open to everybody. */
const publicLevel = 20;
/** No namespace has this id. */
const noOwner = 0;

/** Gives projects first, which have an id; fills `snippets` with the ids of owners by the ids of snippets. */
export async function eachRepository(
  db: ForgeDatabase,
  namespaces: Namespaces,
  snippets: IdTable,
  take: (repository: ForgeRepository) => void,
): Promise<void> {
  const owners = new IdTable();
  const levels = new IdTable();
  await eachRow(db, { table: 'projects', columns: gitlabTables.projects.slice(1) }, (id, row) => {
    const ownerId = namespaces.ownerIdOf(numberAt(row, 1)) ?? noOwner;
    const level = numberAt(row, 2);
    owners.add(id, ownerId);
    levels.add(id, level);
    take({ id, ownerId, name: placeOf('@hashed', id), isPublic: level === publicLevel });
  });
  await eachRow(db, { table: 'snippets', columns: gitlabTables.snippets.slice(1) }, (id, row) => {
    const project = numberAt(row, 2);
    const owner = project === 0 ? namespaces.ownerIdOfUser(numberAt(row, 1)) : owners.get(project);
    const ownerId = owner ?? noOwner;
    snippets.add(id, ownerId);
    const isPublic = numberAt(row, 3) === publicLevel;
    take({ id: null, ownerId, name: placeOf('@snippets', id), isPublic });
  });
  const columns = gitlabTables.pool_repositories.slice(1);
  await eachRow(db, { table: 'pool_repositories', columns }, (_, row) => {
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
export async function projectIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
  let found: number | null = null;
  // No hash tells its number, and a million take a second.
  await eachRow(db, { table: 'projects', columns: [] }, id => {
    if (placeOf('@hashed', id) === name) found = id;
  });
  return found;
}

function placeOf(kind: string, id: number): string {
  return `${kind}/${createHash('sha256').update(String(id)).digest('hex')}`;
}
