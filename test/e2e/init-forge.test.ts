/**
 * `softquota init` on the data directory of a real Gitea: from there to the figures of every owner, what no
 * walk can tell included, in one command.
 */

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { InitReport } from '../../src/commands/init-report.ts';
import { write } from '../doctor/folder.ts';
import { dataArchive, expected, type RunSql, writeSqlite } from '../forge/fixture.ts';
import { gitlabExpected, makeHashedTree, openGitlab } from '../forge/gitlab-world.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ask } from './ask.ts';
import { init as initIn, ready, start, toldBy } from './init-world.ts';
import { must } from './run.ts';

t.setTimeout(300_000);

interface World {
  readonly folder: string;
  /** The forge's working directory, with `data` in it. */
  readonly work: string;
  readonly database: string;
  readonly sql: RunSql;
}

/** A Gitea with its app.ini at the usual place; `sections` replaces the one of the database. */
async function gitea(t: Test, sections?: string): Promise<World> {
  const folder = temporaryFolder(t);
  const work = join(folder, 'gitea');
  await mkdir(join(work, 'custom/conf'), { recursive: true });
  await must('tar', ['-xzf', fileURLToPath(dataArchive), '-C', work]);
  const database = join(work, 'data/gitea.db');
  const sql = writeSqlite(database);
  const text = `WORK_PATH = ${work}\n[repository]\nROOT = ${work}/data/gitea-repositories\n`;
  await writeFile(
    join(work, 'custom/conf/app.ini'),
    text + (sections ?? `[database]\nDB_TYPE = sqlite3\nPATH = ${database}\n`),
  );
  return { folder, work, database, sql };
}

const init = ({ folder }: Pick<World, 'folder'>, ...args: readonly string[]) => initIn(folder, ...args);

/** The report as programs get it, of a folder with a forge. */
async function told({ folder }: Pick<World, 'folder'>, ...args: readonly string[]) {
  const { forge, ...others } = await toldBy(folder, ...args);
  if (forge === null) throw new Error('no forge was found');
  return { ...others, forge };
}

const totals = Object.entries(expected.owners)
  .map(([name, leaves]) => [name, Object.values(leaves).reduce((sum, bytes) => sum + bytes, 0)] as const)
  .filter(([, bytes]) => bytes > 0)
  .sort(([, a], [, b]) => b - a);

const totalsIn = ({ largest }: Pick<InitReport, 'largest'>) =>
  largest.filter(({ total }) => total > 0).map(({ name, total }) => [name, total]);

/** Usage of an owner from the daemon, by its own names of the kinds of data. */
async function usage({ folder }: World, owner: string): Promise<unknown> {
  const socket = join(folder, 'data/trusted.sock');
  const { text } = await ask(socket, `/v1/usage?owner=${encodeURIComponent(owner)}`);
  return JSON.parse(text).used;
}

t.test('one command on a Gitea counts and tells what its database knows, and the daemon goes on', async t => {
  const world = await gitea(t);
  const found = await told(world, world.work);
  t.match(found, {
    layout: 'gitea',
    forge: {
      kind: 'gitea',
      config: join(world.work, 'custom/conf/app.ini'),
      address: null,
      database: /^SQLite 3/,
      schema_version: 343,
      fault: null,
    },
    next: { forge: null },
  });
  t.strictSame(totalsIn(found), totals, 'every owner has what was uploaded');
  t.strictSame(
    found.unattributed.stores.map(({ what }) => what),
    ['logs of actions'],
    'only what belongs to nobody is left',
  );
  t.ok(found.forge.unowned.some(({ reason, bytes }) => reason === 'packages_orphaned' && bytes > 0));

  const { code, stdout, stderr } = await init(world, join(world.work, 'data'), '--config', 'people/app.ini');
  t.equal(code, 0, stderr);
  t.match(stdout, /^Found Gitea in \S+\/data\/gitea-repositories:\n/);
  t.match(
    stdout,
    /\nThe forge's configuration: \S+\/custom\/conf\/app\.ini\nIts database \(SQLite 3\S+, schema version 343\) is read: /,
  );
  t.match(stdout, /\n- \S+ kB belong to nobody: \S+ blobs of packages that no file refers to\n/);
  t.match(stdout, /\nalice +499 kB +49\d{4} +\d+ +\S+\/gitea-repositories\/alice\n/);
  t.match(stdout, /TOTAL = 500 kB \(none of 8 owners/);
  t.match(stdout, /\nnobody: logs of actions /);
  t.notMatch(stdout, /cannot be found on the disk|POST \/v1\/units/);

  const ini = await readFile(join(world.folder, 'app.ini'), 'utf8');
  t.match(ini, /\n\[forge\]\nKIND = gitea\nCONFIG = \S+\/custom\/conf\/app\.ini\n/);
  t.match(ini, /\nMODE = report\n/);
  t.notMatch(ini, /Not measured/);
  await start(t, world.folder);
  await ready(world.folder);
  t.match(await usage(world, 'alice'), {
    size: { repos: { public: 88_301, private: 172_332 }, git: { LFS: 127_982 } },
  });
});

t.test('a configuration elsewhere can be named, and has to be of this forge', async t => {
  const world = await gitea(t);
  const named = join(world.folder, 'elsewhere.ini');
  await rename(join(world.work, 'custom/conf/app.ini'), named);
  const root = join(world.work, 'data/gitea-repositories');
  const without = await told(world, root, '--config', 'first.ini');
  t.match(without.forge, { config: null, fault: { code: 'configuration', mend: /--forge-config FILE/ } });
  t.ok(without.unattributed.stores.length > 1, 'what was walked is written and told all the same');
  const found = await told(world, root, '--forge-config', named);
  t.strictSame(totalsIn(found), totals);

  await mkdir(join(world.folder, 'empty'));
  const other = await init(world, join(world.folder, 'empty'), '--forge-config', named, '--config', 'x.ini');
  t.match(other, {
    code: 2,
    stderr: /elsewhere\.ini says that Gitea keeps its repositories in .*, which is not in/,
  });
  const none = await init(world, root, '--forge-config', '/nonexistent/app.ini', '--config', 'x.ini');
  t.match(none, { code: 2, stderr: /\/nonexistent\/app\.ini is not a file/ });
  t.match(await init(world, '--forge-config', named, '--config', 'x.ini'), {
    code: 2,
    stderr: /softquota init ROOT --forge-config FILE/,
  });
});

t.test('a container’s app.ini names paths inside: the database is found beside the data', async t => {
  const world = await gitea(t, '[database]\nDB_TYPE = sqlite3\nPATH = /nonexistent/gitea/gitea.db\n');
  const found = await told(world, world.work);
  t.equal(found.forge.address, `sqlite:${world.database}`);
  t.strictSame(totalsIn(found), totals);
  t.match(await readFile(join(world.folder, 'app.ini'), 'utf8'), `DATABASE = sqlite:${world.database}\n`);
});

t.test('tables that are not known are named, the rest is measured, with what to do then', async t => {
  const world = await gitea(t);
  world.sql('ALTER TABLE lfs_meta_object RENAME COLUMN size TO bytes; UPDATE version SET version = 999');
  const found = await told(world, world.work);
  t.match(found.forge.fault, { code: 'schema', message: /lfs_meta_object\.size is missing/ });
  t.equal(found.owners, 7, 'the repositories are measured');
  t.ok(found.unattributed.stores.some(({ what }) => what === 'LFS objects'));
  const ini = await readFile(join(world.folder, 'app.ini'), 'utf8');
  t.match(ini, /\n# It is not read: [^\n]*\n(?:# .*\n)*;\[forge\]\n;KIND = gitea\n;CONFIG = /);
  const daemon = await start(t, world.folder);
  await ready(world.folder);
  await daemon.end();

  world.sql('ALTER TABLE lfs_meta_object RENAME COLUMN bytes TO size');
  await must('sh', ['-c', found.next.forge ?? ''], { cwd: world.folder });
  await start(t, world.folder);
  await ready(world.folder);
  t.match(await usage(world, 'alice'), { size: { git: { LFS: 127_982 } } });
});

t.test('one command on a GitLab counts what its database says, hashed repositories too', async t => {
  const { host, sql } = await openGitlab(t);
  const folder = temporaryFolder(t);
  const root = join(folder, 'data/git-data/repositories');
  const made = await makeHashedTree(root);
  const rb = join(folder, 'config/gitlab.rb');
  const settings = { host, database: 'gitea', username: 'softquota', password: 'secret' };
  const text = Object.entries(settings).map(([key, value]) => `gitlab_rails['db_${key}'] = '${value}'\n`);
  write(rb, text.join(''));
  const found = await told({ folder }, join(folder, 'data'));
  t.match(found, {
    layout: 'gitlab',
    forge: {
      kind: 'gitlab',
      config: rb,
      database: /^PostgreSQL/,
      schema_version: 20250601000000,
      fault: null,
    },
    unattributed: { stores: [] },
    next: { forge: null },
  });
  for (const [owner, leaves] of Object.entries(gitlabExpected.top)) {
    const walked = made.filter(one => one.owner === owner).map(({ bytes }) => bytes);
    const total = [...walked, ...Object.values(leaves)].reduce((sum, bytes) => sum + bytes, 0);
    t.equal(found.largest.find(({ name }) => name === owner)?.total ?? 0, total, owner);
  }
  const ini = await readFile(join(folder, 'app.ini'), 'utf8');
  t.match(ini, /\n\[forge\]\nKIND = gitlab\nCONFIG = \S+\/config\/gitlab\.rb\n/);
  t.match(ini, /\nOWNER = forge\n/);

  await sql("ALTER ROLE softquota PASSWORD 'other'");
  const closed = await told({ folder }, join(folder, 'data'), '--config', 'other/app.ini');
  t.match(closed.forge, { fault: { code: 'rights', mend: /correct the user or the password/ } });
  t.notMatch(await readFile(join(folder, 'other/app.ini'), 'utf8'), /OWNER = forge/);
  t.match(closed.next.forge, /softquota init \S+ --forge-config \S+gitlab\.rb --config /);
});
