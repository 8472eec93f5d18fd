/**
 * A Gitea whose LFS objects all lie in one store: `softquota why` names those of a repository that no file needs,
 * as its database says whose they are.
 */

import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { withWorker } from '../e2e/with-worker.ts';
import { writeSqlite } from './fixture.ts';

t.test('objects that only this repository has, and none of its files names, are named', async t => {
  const server = await Server.open(t, { started: false, repositories: ['bob-b/tool'] });
  const database = join(server.folder, 'gitea.db');
  const sql = writeSqlite(database);
  await server.configure({ forge: { KIND: 'gitea', DATABASE: `sqlite:${database}` } });
  const oids = Array.from({ length: 3 }, () => createHash('sha256').update(randomBytes(8)).digest('hex'));
  const [named = '', lost = '', shared = ''] = oids;
  // The number of Bob-B/tool in this database, and that of another repository.
  const rows = [...oids.map(oid => [oid, 10]), [shared, 1]] as const;
  for (const [oid, repository] of rows)
    sql(`INSERT INTO lfs_meta_object (oid, size, repository_id) VALUES ('${oid}', 70000, ${repository})`);

  const clone = join(server.folder, 'clone');
  await must('git', ['init', '-q', '-b', 'main', clone]);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${named}\nsize 70000\n`;
  await writeFile(join(clone, 'film'), pointer);
  await must('git', ['add', '--all'], { cwd: clone });
  await must('git', ['commit', '-q', '-m', 'a film'], { cwd: clone });
  await must('git', ['push', '-q', server.path('bob-b/tool'), 'main'], { cwd: clone });

  await server.start();
  await server.usageIs('Bob-B', bytes => bytes > 0);
  await withWorker(t, server);
  const why = await until(async () => {
    const { code, stdout } = await server.softquota(['why', 'Bob-B/tool', '--json']);
    return code === 0 ? JSON.parse(stdout) : null;
  });
  t.match(why.report.lfs, { count: 2, largest: [{ oid: lost, bytes: 70_000 }, { bytes: 18_065 }] });
  const { stdout } = await server.softquota(['why', 'Bob-B/tool']);
  t.match(stdout, /2 LFS objects of \S+ \S+ belong to no file of any version/);
  t.notMatch(stdout, shared);
});
