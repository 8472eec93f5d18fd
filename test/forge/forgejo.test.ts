/**
 * A Forgejo of made rows, on three databases: each owner has what the one who made them counted, by both
 * rules.
 */

import { createHash } from 'node:crypto';
import t from 'tap';
import { engines } from './fixture.ts';
import { openMade, type Rows, type Tables } from './made.ts';
import { Readings, settingsFor } from './readings.ts';

t.setTimeout(300_000);

/** Tables as the models of Forgejo 12 have them, as far as they say something of owners and bytes. */
const tables: Tables = {
  user: { id: 'key', name: 'text', email: 'text', type: 'number', is_admin: 'flag' },
  repository: { id: 'key', owner_id: 'number', owner_name: 'text', lower_name: 'text', is_private: 'flag' },
  org_user: { id: 'key', uid: 'number', org_id: 'number' },
  team: { id: 'key', org_id: 'number', authorize: 'number' },
  team_user: { id: 'key', team_id: 'number', uid: 'number' },
  lfs_meta_object: { id: 'key', oid: 'text', size: 'number', repository_id: 'number' },
  attachment: { id: 'key', repo_id: 'number', release_id: 'number', size: 'number' },
  action_artifact: { id: 'key', repo_id: 'number', file_compressed_size: 'number', status: 'number' },
  package: { id: 'key', owner_id: 'number', repo_id: 'number' },
  package_version: { id: 'key', package_id: 'number' },
  package_file: { id: 'key', version_id: 'number', blob_id: 'number' },
  package_blob: { id: 'key', size: 'number' },
};

const oid = (name: string) => createHash('sha256').update(name).digest('hex');

const rows: Rows = {
  user: [
    { id: 1, name: 'Alice', email: 'a@git.example', type: 0, is_admin: true },
    { id: 2, name: 'acme', email: '', type: 1, is_admin: false },
    // 2 is a user who was reserved, and 5 one of another server: both own nothing.
    { id: 3, name: 'reserved', email: '', type: 2, is_admin: false },
    { id: 4, name: 'remote', email: '', type: 5, is_admin: false },
  ],
  repository: [
    { id: 1, owner_id: 1, owner_name: 'Alice', lower_name: 'app', is_private: false },
    { id: 2, owner_id: 1, owner_name: 'Alice', lower_name: 'fork', is_private: true },
    { id: 3, owner_id: 2, owner_name: 'acme', lower_name: 'site', is_private: false },
  ],
  org_user: [{ id: 1, uid: 1, org_id: 2 }],
  team: [{ id: 1, org_id: 2, authorize: 4 }],
  team_user: [{ id: 1, team_id: 1, uid: 1 }],
  lfs_meta_object: [
    { id: 1, oid: oid('both'), size: 1000, repository_id: 1 },
    { id: 2, oid: oid('both'), size: 1000, repository_id: 2 },
    { id: 3, oid: oid('both'), size: 1000, repository_id: 3 },
    { id: 4, oid: oid('own'), size: 20, repository_id: 3 },
  ],
  attachment: [
    { id: 1, repo_id: 1, release_id: 0, size: 300 },
    { id: 2, repo_id: 3, release_id: 1, size: 4000 },
    // A link of a release, which is stored elsewhere.
    { id: 3, repo_id: 3, release_id: 1, size: 0 },
  ],
  action_artifact: [1, 2, 3, 4, 5, 6].map(status => ({
    id: status,
    repo_id: 3,
    file_compressed_size: 10 ** status,
    status,
  })),
  package: [{ id: 1, owner_id: 1, repo_id: 3 }],
  package_version: [{ id: 1, package_id: 1 }],
  package_file: [
    { id: 1, version_id: 1, blob_id: 1 },
    { id: 2, version_id: 1, blob_id: 1 },
  ],
  package_blob: [
    { id: 1, size: 50_000 },
    { id: 2, size: 7 },
  ],
};

/** Counted from the rows above. */
const expected = {
  Alice: {
    'size:git:lfs': 1000,
    'size:assets:attachments:issues': 300,
    'size:assets:packages:all': 50_000,
  },
  acme: {
    'size:git:lfs': 1020,
    'size:assets:attachments:releases': 4000,
    'size:assets:artifacts': 100 + 100_000,
  },
};

for (const engine of engines) {
  t.test(`${engine}: every owner of a Forgejo has what was made`, async t => {
    const database = await openMade(t, engine, tables, rows);
    const readings = new Readings(t, settingsFor(database.address, { kind: 'forgejo' }));
    const { unowned } = await readings.read();
    for (const [owner, leaves] of Object.entries(expected)) {
      t.strictSame(readings.bytesOf(owner), leaves, owner);
    }
    t.strictSame(
      [...readings.owners.values()].map(({ name }) => name),
      ['Alice', 'acme'],
    );
    t.strictSame(readings.members, [{ organization: 2, owners: [1], members: [] }]);
    t.ok(readings.isPublic('alice/app') && !readings.isPublic('alice/fork'));
    t.strictSame(unowned, [{ reason: 'packages_orphaned', count: 1, bytes: 7 }]);
    await database.sql('ALTER TABLE action_artifact RENAME COLUMN file_compressed_size TO compressed');
    const broken = new Readings(t, settingsFor(database.address, { kind: 'forgejo' }));
    await t.rejects(broken.read(), {
      code: 'schema',
      message: /not as forgejo has it: action_artifact\.file_compressed_size is missing/,
    });
  });
}
