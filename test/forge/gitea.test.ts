/** A real Gitea's figures, read from its three databases, are those that were uploaded. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { forgeLeaves } from '../../src/forge/index.ts';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { dataArchive, type Engine, engines, expected, startServer, writeSqlite } from './fixture.ts';
import { Readings, settingsFor } from './readings.ts';

t.setTimeout(300_000);

/** The bytes of objects that another owner of the fixture has, too. */
const ofSeveral = 208_396;

for (const engine of engines) {
  t.test(engine, async t => {
    const { database, statements } = await open(t, engine);
    await t.test('LFS objects of one repository alone are told, beside a reading too', async t => {
      const { reader, ...readings } = new Readings(t, settingsFor(database));
      const of = async (name: string) =>
        (await reader.lfsObjects(name)).map(({ oid, bytes }) => [oid.slice(0, 8), bytes]);
      const reading = reader.read('new');
      await reading.next();
      t.strictSame(await of('Bob-B/tool'), [['34bd2e97', 18_065]], 'not what others have too');
      t.strictSame(await of('alice/app2'), [['d598d710', 7925]]);
      t.strictSame(await of('alice/app'), [], 'its fork has them all');
      t.strictSame(await of('acme/nothing'), []);
      t.strictSame(await of("a'b/c"), []);
      t.ok((await reading.next()).value, 'and the reading goes on');
      t.strictSame(readings.lines, []);
    });

    await t.test('every owner and leaf is right to the byte, and nothing is written', async t => {
      const readings = new Readings(t, settingsFor(database));
      const { unowned } = await readings.read();

      const wanted = Object.entries(expected.owners).map(([owner, leaves]) => [
        owner,
        Object.fromEntries(forgeLeaves.flatMap(leaf => (leaves[leaf] ? [[leaf, leaves[leaf]]] : []))),
      ]);
      readings.match(t, Object.fromEntries(wanted));
      t.equal(
        readings.lines.length,
        wanted.flatMap(([, leaves = {}]) => Object.keys(leaves)).length,
        'and no more',
      );

      for (const { name, type } of readings.owners.values()) {
        t.equal(type, expected.types[name] ?? 'user', `the type of ${name}`);
      }
      for (const name of expected.repositories.public) t.ok(readings.isPublic(name), `${name} is public`);
      for (const name of expected.repositories.private)
        t.notOk(readings.isPublic(name), `${name} is private`);

      const disk = await storedBytes();
      const ofOwners = (leaf: string) =>
        readings.lines.reduce((sum, { subject, bytes }) => sum + (subject.startsWith(leaf) ? bytes : 0), 0);
      const nobody = (reason: string) => unowned?.find(one => one.reason === reason)?.bytes ?? 0;
      const lfsAndPackages =
        ofOwners('size:git:lfs') +
        ofOwners('size:assets:packages') +
        nobody('lfs_orphaned') +
        nobody('packages_orphaned');
      t.equal(
        lfsAndPackages - ofSeveral,
        (disk.get('lfs') ?? 0) + (disk.get('packages') ?? 0),
        'owners and nobody are the disk',
      );
      const attachments = ofOwners('size:assets:attachments') + nobody('attachments_orphaned');
      t.equal(attachments, disk.get('attachments'));
      const artifacts = ofOwners('size:assets:artifacts') + nobody('artifacts_orphaned');
      t.equal(artifacts, disk.get('actions_artifacts'));
      t.ok(nobody('packages_orphaned') > 0, 'the blob of a deleted package is nobody’s');

      // MariaDB tells of a change with whole seconds, so the last one is new for a second.
      await until(async () => ((await readings.read()).unowned === undefined ? true : null));
      t.pass('nothing is new');
      t.strictSame((await readings.read('full')).drift, []);
      await statements.onlyRead(t);
    });
  });
}

t.test('reserved and remote users own nothing, and artifacts count while their files are there', async t => {
  const path = join(temporaryFolder(t), 'forgejo.db');
  const sql = writeSqlite(path);
  const readings = new Readings(t, settingsFor(`sqlite:${path}`, { kind: 'forgejo' }));
  await readings.read();
  const [owners, before] = [readings.owners.size, readings.bytesOf('alice')['size:assets:artifacts'] ?? 0];
  for (const [name, type] of Object.entries({ reserved: 2, remote: 5 }))
    sql(`INSERT INTO user (lower_name, name, email, passwd, type, avatar, avatar_email)
      VALUES ('${name}', '${name}', '', '', ${type}, '', '')`);
  for (const status of [1, 2, 3, 4, 5, 6])
    sql(`INSERT INTO action_artifact (run_id, repo_id, file_compressed_size, status)
      SELECT 100 + ${status}, min(id), ${10 ** status}, ${status} FROM repository WHERE owner_name = 'alice'`);
  await readings.read('full');
  t.equal(readings.owners.size, owners);
  t.equal(readings.bytesOf('alice')['size:assets:artifacts'], before + 100 + 100_000);
});

/** The bytes of the data directory by kind, without uploads that never ended. */
async function storedBytes(): Promise<ReadonlyMap<string, number>> {
  const list = await must('tar', ['-tvzf', fileURLToPath(dataArchive)]);
  const sums = new Map<string, number>();
  for (const [, size = '', kind = ''] of list.matchAll(
    /^-\S+ +\S+ +(\d+) \S+ \S+ data\/([^/\n]+)\/(?!tmp-upload\/)/gm,
  )) {
    sums.set(kind, (sums.get(kind) ?? 0) + Number(size));
  }
  return sums;
}

/** Tells what the reader did to the database. */
interface Statements {
  onlyRead(t: Test): Promise<void>;
}

async function open(
  t: Test,
  engine: Engine,
): Promise<{ readonly database: string; readonly statements: Statements }> {
  if (engine === 'sqlite') {
    const directory = temporaryFolder(t);
    const path = join(directory, 'gitea.db');
    writeSqlite(path);
    const before = await readFile(path);
    const onlyRead = async (t: Test) => {
      t.ok(before.equals(await readFile(path)), 'the file is as it was');
    };
    return { database: `sqlite:${path}`, statements: { onlyRead } };
  }
  const server = await startServer(t, engine);
  const onlyRead = async (t: Test) => {
    const log = await readFile(server.statements, 'utf8');
    const own =
      engine === 'postgres'
        ? log.matchAll(/^softquota LOG: +(?:statement|execute [^:]*): (.*)$/gm)
        : ownStatements(log);
    const asked = [...own].map(([, statement = '']) => statement);
    t.ok(asked.length > 20, `${asked.length} statements`);
    const others = asked.filter(
      text =>
        !/^(?:SELECT|SHOW|SET|BEGIN TRANSACTION.* READ ONLY|START TRANSACTION READ ONLY|COMMIT)\b/.test(text),
    );
    t.strictSame(others, [], 'nothing but reads');
  };
  return { database: server.address('softquota', 'secret'), statements: { onlyRead } };
}

/** MariaDB's general log has the number of a connection before each statement. */
function* ownStatements(log: string): Generator<readonly [string, string]> {
  const own = new Set([...log.matchAll(/(\d+) Connect\s+softquota@/g)].map(([, id]) => id));
  for (const [all, id, statement = ''] of log.matchAll(/(\d+) (?:Query|Execute)\s+(.*)$/gm)) {
    if (own.has(id)) yield [all, statement];
  }
}
