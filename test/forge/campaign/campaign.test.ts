/**
 * Random changes of a forge, on its database and on the disk: what owners have and what is nobody's is again
 * and again all that is stored.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Server } from '../../e2e/server.ts';
import { numbersFrom } from '../../numbers.ts';
import { isLong } from '../../run-length.ts';
import { writeSqlite } from '../fixture.ts';
import { openGitlab } from '../gitlab-world.ts';
import { hashedStorages, namedStorages } from '../storages.ts';
import { giteaCampaign } from './gitea.ts';
import { gitlabCampaign } from './gitlab.ts';
import { runCampaign } from './run.ts';
import { Chances } from './world.ts';

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
    const { address, sql } = await openGitlab(t, { rows: { schema_migrations: [{ version: '1' }] } });
    const server = await Server.open(t, { started: false });
    const root = join(server.folder, 'repositories');
    const campaign = gitlabCampaign(new Chances(numbersFrom(seed)), root, level);
    for (const kind of ['@hashed', '@snippets', '@pools']) mkdirSync(join(root, kind), { recursive: true });
    const forge = { KIND: 'gitlab', DATABASE: address, OWNER: level };
    await server.configure({ forge, ...hashedStorages(root) });
    await runCampaign(t, server, sql, campaign);
  });
}

/** Forgejo has the tables of Gitea. */
for (const kind of isLong ? (['gitea', 'forgejo'] as const) : (['gitea'] as const)) {
  t.test(`${kind}, where directories have the names of their owners`, async t => {
    const server = await Server.open(t, { started: false });
    const folder = join(server.folder, kind);
    const root = join(folder, `${kind}-repositories`);
    mkdirSync(root, { recursive: true });
    const path = join(folder, `${kind}.db`);
    const sql = writeSqlite(path);
    sql(giteaTables.map(name => `DELETE FROM "${name}"`).join(';'));
    const config = join(folder, 'app.ini');
    writeFileSync(
      config,
      `[server]\nAPP_DATA_PATH = ${folder}\n[database]\nDB_TYPE = sqlite3\nPATH = ${path}\n`,
    );
    await server.configure({ forge: { KIND: kind, CONFIG: config }, ...namedStorages(root) });
    const first = kind === 'gitea' ? seed : seed + 1000;
    await runCampaign(t, server, sql, giteaCampaign(new Chances(numbersFrom(first)), root, folder));
  });
}
