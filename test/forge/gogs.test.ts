/** A Gogs of made rows, on three databases: each owner has what the one who made them counted. */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ForgeSettings } from '../../src/forge/index.ts';
import { folderWith } from '../config/written.ts';
import { type Engine, engines } from './fixture.ts';
import { gogsExpected, gogsRows, gogsTables, gogsUnowned, writeAttachments } from './gogs-world.ts';
import { type MadeDatabase, openMade } from './made.ts';
import { Readings, settingsFor } from './readings.ts';

t.setTimeout(300_000);

interface World extends MadeDatabase {
  readonly folder: string;
  readonly settings: ForgeSettings;
}

async function open(t: Test, engine: Engine): Promise<World> {
  const more = engine === 'sqlite' ? '' : 'ALTER TABLE lfs_object ADD PRIMARY KEY (repo_id, oid);';
  const database = await openMade(t, engine, gogsTables, gogsRows, more);
  const folder = folderWith(t, { 'custom/conf/app.ini': '[database]\nTYPE = postgres\n' });
  writeAttachments(join(folder, 'data/attachments'));
  const configFile = join(folder, 'custom/conf/app.ini');
  return { ...database, folder, settings: settingsFor(database.address, { kind: 'gogs', configFile }) };
}

for (const engine of engines) {
  t.test(`${engine}: every owner of a Gogs has what was made`, async t => {
    const { settings, sql } = await open(t, engine);
    const readings = new Readings(t, settings);
    const { unowned } = await readings.read();
    readings.match(t, gogsExpected);
    t.strictSame(
      [...readings.owners.values()].map(({ name, type, isAdmin }) => [name, type, isAdmin]),
      [
        ['Alice', 'user', false],
        ['bob', 'user', true],
        ['Acme', 'organization', false],
        ['carl', 'user', false],
      ],
    );
    t.strictSame(readings.members, [{ organization: 3, owners: [1], members: [7] }]);
    t.ok(readings.isPublic('alice/app'));
    t.notOk(readings.isPublic('alice/secret'));
    t.strictSame(unowned, gogsUnowned);
    const site = await readings.reader.lfsObjects('Acme/site');
    t.equal(site.length, 2500);
    t.equal(site[0]?.bytes, 2509, 'the largest first');
    t.strictSame(await readings.reader.lfsObjects('alice/app'), [], 'others have all of its objects too');
    t.strictSame(await readings.reader.lfsObjects('bob/site'), [], 'of a name that another owner has');

    await sql("UPDATE repository SET owner_id = 7 WHERE lower_name = 'site'");
    await readings.read('full');
    t.strictSame(readings.bytesOf('carl'), gogsExpected.Acme, 'what is transferred goes with its files');
    t.strictSame(readings.bytesOf('Acme'), {});
  });
}

t.test('attachments whose directory is away keep the last figures', async t => {
  const { settings, folder } = await open(t, 'sqlite');
  const readings = new Readings(t, settings);
  await readings.read();
  const before = readings.lines;
  renameSync(join(folder, 'data/attachments'), join(folder, 'away'));
  await t.rejects(readings.read('full'), { code: 'unreachable', message: /data\/attachments/ });
  t.strictSame(readings.lines, before);
  renameSync(join(folder, 'away'), join(folder, 'data/attachments'));
  await readings.read('anew');
  t.strictSame(readings.lines, before);
});

t.test('attachments of which no file is there any more keep the last figures for now', async t => {
  const { settings, folder, sql } = await open(t, 'sqlite');
  const [directory, away] = [join(folder, 'data/attachments'), join(folder, 'away')];
  const added = Array.from({ length: 40 }, (_, at) => ({
    uuid: `fe${at}`,
    issue: 1 + (at % 2),
    id: 100 + at,
  }));
  const values = added.map(({ id, uuid, issue }) => `(${id}, '${uuid}', ${issue}, 0)`);
  await sql(`INSERT INTO attachment (id, uuid, issue_id, release_id) VALUES ${values.join()}`);
  mkdirSync(join(directory, 'f/e'), { recursive: true });
  for (const { uuid } of added) writeFileSync(join(directory, 'f/e', uuid), 'bytes');
  const readings = new Readings(t, settings);
  await readings.read();
  const before = readings.lines;
  renameSync(directory, away);
  // A mount point whose disk is not mounted is an empty directory.
  mkdirSync(directory);
  await t.rejects(readings.read('full'), { code: 'gone', message: /attachments:issues, of 2 owners/ });
  t.strictSame(readings.lines, before);
  renameSync(away, directory);
  await readings.read('anew');
  t.strictSame(readings.lines, before);
});

t.test('attachments are where the app.ini of Gogs says, also outside of its container', async t => {
  const { settings, folder } = await open(t, 'sqlite');
  const { configFile } = settings;
  writeFileSync(configFile ?? '', '[attachment]\nPATH = elsewhere\n');
  writeAttachments(join(folder, 'elsewhere'));
  renameSync(join(folder, 'data/attachments'), join(folder, 'away'));
  const readings = new Readings(t, settings);
  await readings.read();
  t.strictSame(readings.bytesOf('Alice'), gogsExpected.Alice);

  const volume = folderWith(t, { 'gogs/conf/app.ini': '[attachment]\nPATH = /data/gogs/data/attachments\n' });
  writeAttachments(join(volume, 'gogs/data/attachments'));
  const outside = new Readings(t, { ...settings, configFile: join(volume, 'gogs/conf/app.ini') });
  await outside.read();
  t.strictSame(outside.bytesOf('Alice'), gogsExpected.Alice);
});
