/**
 * Tables of Gitea and Forgejo, which are the same.
 *
 * Each table is read completely, by ids and without joins; the rows are joined here. Joins over whole tables
 * would take the database many times as long.
 */

import type { GiteaStore } from './app-ini.ts';
import {
  boundedColumns,
  eachRow,
  type ForgeDatabase,
  flagAt,
  numberAt,
  type Row,
  textAt,
} from './database.ts';
import {
  addMember,
  type ForgeSchema,
  membersById,
  type NeededColumns,
  ObjectSums,
  objectIn,
  PartSums,
  type RowOwners,
  readObjects,
} from './forge-schema.ts';
import { type ForgeMembers, type ForgeOwner, type LfsObject, mostLfsObjects } from './messages.ts';

/** The tables and columns that are read, as in Gitea 1.27.3; see docs/forges. */
const tables = {
  user: ['id', 'name', 'type', 'email', 'is_admin', 'lower_name', 'visibility'],
  repository: ['id', 'owner_id', 'owner_name', 'lower_name', 'is_private'],
  org_user: ['id', 'uid', 'org_id'],
  team: ['id', 'org_id', 'authorize'],
  team_user: ['id', 'team_id', 'uid'],
  lfs_meta_object: ['id', 'oid', 'size', 'repository_id'],
  attachment: ['id', 'repo_id', 'release_id', 'size', 'uuid'],
  action_artifact: ['id', 'repo_id', 'file_compressed_size', 'status', 'storage_path'],
  package: ['id', 'owner_id', 'repo_id'],
  package_version: ['id', 'package_id'],
  package_file: ['id', 'version_id', 'blob_id'],
  package_blob: ['id', 'size', 'hash_sha256'],
} as const satisfies NeededColumns;

/** Version of the schema in Gitea 1.27.3, which was tested. */
export const triedSchemaVersion = 343;

/** Returns the path of a file in one of the forge's directories; null if unknown. */
type GiteaFile = (store: GiteaStore, name: string) => string | null;

/** `areHidden`: the forge hides the pages of all owners. */
export function giteaSchema(fileIn: GiteaFile, areHidden: () => boolean): ForgeSchema {
  return {
    ...giteaOwners(tables.user, areHidden),
    needed: tables,
    versionTable: 'version',
    accountTables: ['user', 'org_user', 'team', 'team_user'],
    repositoryTables: ['repository'],
    tellsOwners: false,
    byteParts: {
      lfs: {
        tables: ['lfs_meta_object'],
        isByRepository: true,
        count: (db, whose) => countLfs(db, whose, fileIn),
      },
      attachments: {
        tables: ['attachment'],
        isByRepository: true,
        count: (db, whose) => countAttachments(db, whose, fileIn),
      },
      artifacts: {
        tables: ['action_artifact'],
        isByRepository: true,
        count: (db, whose) => countArtifacts(db, whose, fileIn),
      },
      packages: {
        tables: ['package', 'package_version', 'package_file', 'package_blob'],
        // Packages belong to owners, not to repositories.
        isByRepository: false,
        count: (db, whose) => countPackages(db, whose, fileIn),
      },
    },
    members: membersIn,
    eachRepository: (db, _owners, take) =>
      eachRow(db, 'repository', tables.repository, (id, row) =>
        take({
          id,
          ownerId: numberAt(row, 1),
          name: `${textAt(row, 2)}/${textAt(row, 3)}`.toLowerCase(),
          isPublic: !flagAt(row, 4),
        }),
      ),
    lfsObjects: (db, name) =>
      lfsObjectsOf(db, { table: 'lfs_meta_object', repository: 'repository_id', key: 'id' }, name),
  };
}

/** The values of `user.type` that own data: 0 a user, 1 an organization, 4 a bot. */
const types: Readonly<Record<number, ForgeOwner['type']>> = { 0: 'user', 1: 'organization', 4: 'user' };

/** The owners of Gitea, Forgejo and Gogs, whose table is the same. */
export function giteaOwners(
  columns: readonly string[],
  areHidden: () => boolean,
): Required<Pick<ForgeSchema, 'eachOwner' | 'ownerBy'>> {
  return {
    eachOwner: (db, take) => {
      const isHidden = areHidden();
      return eachRow(db, 'user', columns, (id, row) => {
        const owner = ownerIn(id, row, isHidden);
        if (owner !== null) take(owner);
      });
    },
    ownerBy: async (db, key, value) => {
      const sql = `SELECT ${boundedColumns(db, columns)} FROM ${db.quoted('user')} WHERE ${db.quoted(key)} = ? LIMIT 1`;
      const [row] = await db.rows(sql, [value]);
      return row === undefined ? null : ownerIn(numberAt(row, 0), row, areHidden());
    },
  };
}

/**
 * Makes an owner of a row; null for a type that owns nothing. The visibility of the page is 0 for everybody,
 * 1 for signed-in users, 2 for members.
 */
function ownerIn(id: number, row: Row, isHidden: boolean): ForgeOwner | null {
  const type = types[numberAt(row, 2)];
  if (type === undefined) return null;
  const owner = { id, name: textAt(row, 1), type, email: textAt(row, 3), isAdmin: flagAt(row, 4) };
  return numberAt(row, 6) === 0 && !isHidden ? owner : { ...owner, isHidden: true };
}

/** The value of `team.authorize` for owners. */
const ownerAccess = 4;

async function membersIn(db: ForgeDatabase): Promise<readonly ForgeMembers[]> {
  const ownerTeams = new Map<number, number>();
  await eachRow(db, 'team', tables.team, (id, row) => {
    if (numberAt(row, 2) === ownerAccess) ownerTeams.set(id, numberAt(row, 1));
  });
  const owners = new Map<number, Set<number>>();
  await eachRow(db, 'team_user', tables.team_user, (_, row) => {
    const organization = ownerTeams.get(numberAt(row, 1));
    if (organization !== undefined) addMember(owners, organization, numberAt(row, 2));
  });
  const all = new Map<number, Set<number>>();
  await eachRow(db, 'org_user', tables.org_user, (_, row) => {
    addMember(all, numberAt(row, 2), numberAt(row, 1));
  });
  return membersById(owners, all);
}

/** Returns the name of a repository's owner; null if there is none. */
function ownerOfRepository({ owners, repositories }: RowOwners, id: number): string | null {
  return owners.get(repositories.get(id) ?? 0)?.name ?? null;
}

async function countLfs(db: ForgeDatabase, whose: RowOwners, fileIn: GiteaFile): Promise<PartSums> {
  const objects = new ObjectSums<string>();
  const take = (_: number, row: Row) => {
    const oid = textAt(row, 1);
    objects.add(oid, numberAt(row, 2));
    objects.addOwner(oid, whose.repositories.get(numberAt(row, 3)));
  };
  const about = (row: Row) => ({
    owner: ownerOfRepository(whose, numberAt(row, 3)),
    path: fileIn('lfs', textAt(row, 1)),
  });
  await eachRow(db, 'lfs_meta_object', tables.lfs_meta_object, take, { about });
  return objects.sums('size:git:lfs', whose, 'lfs_orphaned');
}

async function countAttachments(db: ForgeDatabase, whose: RowOwners, fileIn: GiteaFile): Promise<PartSums> {
  const [issues, releases] = ['size:assets:attachments:issues', 'size:assets:attachments:releases'] as const;
  const sums = new PartSums([issues, releases], whose);
  const take = (_: number, row: Row) => {
    const isOfRelease = numberAt(row, 2) !== 0;
    const owner = whose.repositories.get(numberAt(row, 1));
    sums.add(isOfRelease ? releases : issues, owner, numberAt(row, 3), 'attachments_orphaned');
  };
  const about = (row: Row) => ({
    owner: ownerOfRepository(whose, numberAt(row, 1)),
    path: fileIn('attachments', textAt(row, 4)),
  });
  await eachRow(db, 'attachment', tables.attachment, take, { about });
  return sums;
}

/** The values of `action_artifact.status` whose files exist: stored, and waiting for deletion. */
const storedArtifacts = [2, 5];

async function countArtifacts(db: ForgeDatabase, whose: RowOwners, fileIn: GiteaFile): Promise<PartSums> {
  const leaf = 'size:assets:artifacts';
  const sums = new PartSums([leaf], whose);
  const take = (_: number, row: Row) => {
    if (!storedArtifacts.includes(numberAt(row, 3))) return;
    sums.add(leaf, whose.repositories.get(numberAt(row, 1)), numberAt(row, 2), 'artifacts_orphaned');
  };
  const about = (row: Row) => ({
    owner: ownerOfRepository(whose, numberAt(row, 1)),
    path: fileIn('actions_artifacts', textAt(row, 4)),
  });
  await eachRow(db, 'action_artifact', tables.action_artifact, take, { about });
  return sums;
}

/** Counts each blob once for each owner. */
async function countPackages(db: ForgeDatabase, whose: RowOwners, fileIn: GiteaFile): Promise<PartSums> {
  const owners = await ownersByVersion(db);
  const about = (row: Row) => ({ owner: null, path: fileIn('packages', textAt(row, 2)) });
  const blobs = await readObjects(db, 'package_blob', tables.package_blob, about);
  await eachRow(db, 'package_file', tables.package_file, (_, row) => {
    const owner = owners.get(numberAt(row, 1));
    if (owner !== undefined) blobs.addOwner(numberAt(row, 2), owner);
  });
  return blobs.sums('size:assets:packages:all', whose, 'packages_orphaned');
}

async function ownersByVersion(db: ForgeDatabase): Promise<ReadonlyMap<number, number>> {
  const byPackage = new Map<number, number>();
  await eachRow(db, 'package', tables.package, (id, row) => byPackage.set(id, numberAt(row, 1)));
  const byVersion = new Map<number, number>();
  await eachRow(db, 'package_version', tables.package_version, (id, row) => {
    const owner = byPackage.get(numberAt(row, 1));
    if (owner !== undefined) byVersion.set(id, owner);
  });
  return byVersion;
}

interface LfsRows {
  readonly table: string;
  readonly repository: string;
  /** Column by which an index orders the rows of a repository. */
  readonly key: 'id' | 'oid';
}

/** Limit of the rows of a statement, so that none holds a lock for long. */
const mostRows = 500;

/**
 * Returns the largest objects for which no other repository has a row. `name` is `owner/name` in lower case.
 */
export async function lfsObjectsOf(
  db: ForgeDatabase,
  names: LfsRows,
  name: string,
): Promise<readonly LfsObject[]> {
  const repositoryId = await repositoryIdOf(db, name);
  if (repositoryId === null) return [];
  const [table, repository, key, oid, size] = [names.table, names.repository, names.key, 'oid', 'size'].map(
    each => db.quoted(each),
  );
  const most = Math.min(mostRows, db.pageRows);
  let found: LfsObject[] = [];
  let after: number | string = names.key === 'id' ? -1 : '';
  for (;;) {
    const rows = await db.rows(
      `SELECT ${oid}, ${size}, ${key} FROM ${table} WHERE ${repository} = ? AND ${key} > ? ORDER BY ${key} LIMIT ${most}`,
      [repositoryId, after],
    );
    const page = rows.map(objectIn);
    const places = page.map(() => '?').join(', ');
    const others =
      page.length === 0
        ? []
        : await db.rows(
            `SELECT DISTINCT ${oid} FROM ${table} WHERE ${oid} IN (${places}) AND ${repository} <> ?`,
            [...page.map(each => each.oid), repositoryId],
          );
    const shared = new Set(others.map(row => textAt(row, 0)));
    found.push(...page.filter(each => !shared.has(each.oid)));
    const last = rows.at(-1);
    const isOver = last === undefined || rows.length < most;
    if (isOver || found.length > 2 * mostLfsObjects)
      found = found.sort((a, b) => b.bytes - a.bytes).slice(0, mostLfsObjects);
    if (isOver) return found;
    after = names.key === 'id' ? numberAt(last, 2) : textAt(last, 2);
  }
}

/** Finds the id of a repository of Gitea, Forgejo or Gogs; null if there is none. */
async function repositoryIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
  const [owner = '', own = ''] = name.split('/');
  const rows = await db.rows(
    `SELECT r.id, u.name FROM repository r JOIN ${db.quoted('user')} u ON u.id = r.owner_id WHERE r.lower_name = ?`,
    [own],
  );
  const found = rows.find(row => textAt(row, 1).toLowerCase() === owner);
  return found === undefined ? null : numberAt(found, 0);
}
