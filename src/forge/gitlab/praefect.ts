/**
 * Database of Praefect, in which a Gitaly Cluster stores its repositories. Each one has replicas at
 * `@cluster/repositories/ab/cd/NUMBER` on several storages, of which one counts for the owner.
 */

import { printable } from '../../text.ts';
import { type ForgeDatabase, ForgeFault, textAt } from '../database.ts';
import type { NeededColumns } from '../forge-schema.ts';

/** A replica of a repository in a Gitaly Cluster. */
interface Replica {
  /** Path of the replica below a storage. */
  readonly path: string;
  readonly place: GitlabPlace;
  /** True if this storage is the primary one. If there is no primary, the first storage by name counts. */
  readonly isBilled: boolean;
}

interface GitlabPlace {
  /** Name in GitLab's rows: `@hashed/HASH`. */
  readonly name: string;
  /** `.wiki` or `.design` for a repository beside a project; otherwise empty. */
  readonly beside: string;
}

export const praefectTables = {
  repositories: ['repository_id', 'relative_path', 'replica_path', 'primary'],
  repository_assignments: ['repository_id', 'storage'],
  storage_repositories: ['repository_id', 'storage'],
} as const satisfies NeededColumns;

const longestPath = 500;
/** Storages that a fault names. */
const mostNamed = 10;

/** Combines GitLab's database with Praefect's; its marks include the changes of both. */
export function withReplicas(gitlab: ForgeDatabase, praefect: ForgeDatabase, storage: string): ForgeDatabase {
  return {
    ...gitlab,
    praefect: { db: praefect, storage },
    marks: async tables => {
      const own = await gitlab.marks(tables);
      // Each push changes rows there, so marks of its tables would not show whether anything has moved.
      const { whole } = await praefect.marks(Object.keys(praefectTables));
      return { ...own, whole: `${own.whole} ${whole}` };
    },
    close: async () => {
      await praefect.close();
      await gitlab.close();
    },
  };
}

/** Returns the place of a repository; that of the path itself if it is not a replica. */
export async function replicatedPlace({ praefect }: ForgeDatabase, path: string): Promise<GitlabPlace> {
  const sql = `SELECT left(relative_path, ${longestPath}) FROM repositories WHERE replica_path = ? LIMIT 1`;
  const [row] = praefect === undefined ? [] : await praefect.db.rows(sql, [path]);
  const found = row === undefined ? null : placeIn(textAt(row, 0));
  return found ?? { name: path, beside: '' };
}

export async function eachReplica(
  { db, storage }: NonNullable<ForgeDatabase['praefect']>,
  take: (replica: Replica) => void,
): Promise<void> {
  await mustHave(db, storage);
  const first = (table: string) =>
    `(SELECT min(storage) FROM ${table} WHERE ${table}.repository_id = repositories.repository_id)`;
  const sql = `SELECT repository_id, left(relative_path, ${longestPath}), left(replica_path, ${longestPath}),
    COALESCE("primary", ${first('repository_assignments')}, ${first('storage_repositories')})
    FROM repositories WHERE repository_id > ? ORDER BY repository_id LIMIT ${db.pageRows}`;
  for (let after = '0'; ; ) {
    const rows = await db.rows(sql, [after]);
    for (const row of rows) {
      const path = textAt(row, 2);
      const place = placeIn(textAt(row, 1));
      if (place !== null && path.startsWith('@cluster/'))
        take({ path, place, isBilled: textAt(row, 3) === storage });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < db.pageRows) return;
    after = textAt(last, 0);
  }
}

/** Rejects if Praefect has repositories, but none on this storage: then all would count for nobody. */
async function mustHave(db: ForgeDatabase, storage: string): Promise<void> {
  for (const table of ['storage_repositories', 'repository_assignments']) {
    if ((await db.rows(`SELECT 1 FROM ${table} WHERE storage = ? LIMIT 1`, [storage])).length > 0) return;
  }
  const sql = `SELECT DISTINCT left(storage, ${longestPath}) FROM storage_repositories ORDER BY 1 LIMIT ${mostNamed}`;
  const known = (await db.rows(sql, [])).map(row => printable(textAt(row, 0)));
  if (known.length === 0) return;
  throw new ForgeFault(
    'configuration',
    `Praefect has no repository on the storage ${printable(storage)}; it has some on ${known.join(', ')}`,
    "set [forge] PRAEFECT_STORAGE to the name of this host's storage, then restart the daemon",
  );
}

function placeIn(relativePath: string): GitlabPlace | null {
  const found = /^(@(?:hashed|snippets|pools)\/)(?:[^/]+\/){2}([0-9a-f]{64})(\.wiki|\.design)?\.git$/.exec(
    relativePath,
  );
  return found === null ? null : { name: `${found[1]}${found[2]}`, beside: found[3] ?? '' };
}
