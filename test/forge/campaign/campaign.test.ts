/**
 * Random changes of a forge, on its database and on the disk: what owners have and what is nobody's is again
 * and again all that is stored.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { Server } from '../../e2e/server.ts';
import { numbersFrom } from '../../numbers.ts';
import { isLong } from '../../run-length.ts';
import { writeSqlite } from '../fixture.ts';
import { dividedArtifacts, gitlabTables } from '../gitlab-world.ts';
import { openMade } from '../made.ts';
import { GiteaCampaign } from './gitea.ts';
import { GitlabCampaign } from './gitlab.ts';
import { runCampaign } from './run.ts';

const seed = Number(process.env.SOFTQUOTA_SEED ?? 1);

// They wait for the daemon most of the time.
t.jobs = 4;
t.setTimeout(isLong ? 7_200_000 : 300_000);
const giteaTables = [
  ...['user', 'org_user', 'team', 'team_user', 'repository', 'lfs_meta_object', 'attachment'],
  ...['action_artifact', 'package', 'package_version', 'package_file', 'package_blob'],
];

t.comment(`seed ${seed}`);

for (const level of isLong ? (['top', 'namespace'] as const) : (['top'] as const)) {
  t.test(`GitLab, where a ${level} namespace owns what is in it`, async t => {
    const database = await openMade(
      t,
      'postgres',
      gitlabTables,
      { schema_migrations: [{ version: '1' }] },
      dividedArtifacts,
    );
    const server = await Server.open(t, { started: false });
    const root = join(server.folder, 'repositories');
    const campaign = new GitlabCampaign(numbersFrom(seed), root, level);
    const kinds = ['@hashed', '@snippets', '@pools'].map(kind => join(root, kind));
    for (const path of kinds) mkdirSync(path, { recursive: true });
    await server.configure({
      forge: { KIND: 'gitlab', DATABASE: database.address, OWNER: level },
      'storage.repos': { PATH: kinds.map(path => `${path}/*/*/{repo}.git`).join(', '), OWNER: 'forge' },
      'storage.wiki': { PATH: `${root}/@hashed/*/*/{repo}.wiki.git`, OWNER: 'forge' },
      'storage.lfs': { PATH: null },
      'storage.attachments.issues': { PATH: null },
    });
    await runCampaign(t, server, database, campaign);
  });
}

for (const kind of ['gitea', 'forgejo'] as const) {
  t.test(`${kind}, where directories have the names of their owners`, async t => {
    const server = await Server.open(t, { started: false });
    const folder = join(server.folder, kind);
    const root = join(folder, `${kind}-repositories`);
    mkdirSync(root, { recursive: true });
    const path = join(folder, `${kind}.db`);
    writeSqlite(path);
    const sql = async (text: string) => {
      const db = new DatabaseSync(path, { timeout: 5000 });
      db.exec(text);
      db.close();
    };
    await sql(giteaTables.map(name => `DELETE FROM "${name}"`).join(';'));
    const config = join(folder, 'app.ini');
    writeFileSync(
      config,
      `[server]\nAPP_DATA_PATH = ${folder}\n[database]\nDB_TYPE = sqlite3\nPATH = ${path}\n`,
    );
    await server.configure({
      forge: { KIND: kind, CONFIG: config },
      'storage.repos': { PATH: `${root}/{owner}/{repo}.git` },
      'storage.wiki': { PATH: `${root}/{owner}/{repo}.wiki.git` },
      'storage.lfs': { PATH: null },
      'storage.attachments.issues': { PATH: null },
    });
    const first = kind === 'gitea' ? seed : seed + 1000;
    await runCampaign(t, server, { sql }, new GiteaCampaign(numbersFrom(first), root, folder));
  });
}
