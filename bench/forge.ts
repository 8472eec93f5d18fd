/**
 * Claims: a large forge's database is counted in seconds beside running checks, and asking it for what is new
 * costs next to nothing.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ForgeReader, type ReadMode } from '../src/forge/index.ts';
import { fixture, grants } from '../test/forge/fixture.ts';
import { settingsFor } from '../test/forge/readings.ts';
import { startPostgres } from '../test/forge/servers.ts';
import { ask } from './asking.ts';
import { startDaemon } from './daemon.ts';
import {
  alone,
  count,
  median,
  megabytes,
  milliseconds,
  percentile,
  print,
  seconds,
  tell,
} from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { memoryMb } from './processes.ts';
import { answerOf } from './questions.ts';

const owners = 200_000;
const repositories = 300_000;
const objects = 1_000_000;
const packages = 500_000;
const polls = 100;
const firstCountGoalMs = 30_000;
const pollGoalMs = 20;
const checkGoalMs = 5;
const longestMs = 600_000;

const ends: (() => unknown)[] = [];
const server = await startPostgres({ teardown: act => ends.unshift(act) });
try {
  await measure();
} finally {
  for (const end of ends) await end();
}

async function measure(): Promise<void> {
  tell('filling a database');
  await server.sql('CREATE DATABASE gitea;');
  await server.sql(fixture('postgres.sql.gz'), 'gitea');
  await server.sql(`${grants.postgres.join(';\n')};`, 'gitea');
  await server.sql(rows(), 'gitea');
  const database = server.address('softquota', 'secret');

  tell('reading it alone');
  const reader = new ForgeReader(settingsFor(database));
  const readMs = await timed(reader, 'full');
  const pollsMs: number[] = [];
  while (pollsMs.length < polls) pollsMs.push(await timed(reader, 'new'));
  await reader.close();

  tell('counting it in a daemon, beside checks');
  const directory = makeGround();
  const config = writeConfig(directory, `[forge]\nKIND = gitea\nDATABASE = ${database}\n`);
  const daemon = await startDaemon(config);
  const begun = performance.now();
  const addresses = Array.from(
    { length: 1000 },
    (_, at) => `/v1/check?owner=user-${at}&subject=size:git:lfs`,
  );
  const asking = { ...daemon, accept: 'application/json', connection: 'kept', addresses } as const;
  const p99s: number[] = [];
  const trusted = join(directory, 'data', 'trusted.sock');
  while ((await answerOf(trusted, '/v1/sources/forge')).status !== 200) {
    if (performance.now() - begun > longestMs) throw new Error('the forge is never counted');
    p99s.push((await ask({ ...asking, connections: 1, milliseconds: 500 })).p99Ms);
  }
  const countedMs = performance.now() - begun;
  await delay(10_000);
  const memory = memoryMb(daemon.pid);
  await daemon.stop();

  const pollMs = median(pollsMs);
  const checkMs = median(p99s);
  print({
    title: 'Forge',
    how: `A PostgreSQL of the bench's own with Gitea's tables: ${count(owners)} owners, ${count(repositories)} repositories, ${count(objects)} LFS objects and ${count(packages)} packages. One reading of all of it alone, and ${polls} polls with nothing new. Then a daemon that has never seen it: from its first answer until all figures count and all owners are known, while one connection asks check after check.`,
    figures: [
      alone('one reading of everything', seconds(readMs)),
      alone(
        'a poll with nothing new (median, p99)',
        `${milliseconds(pollMs)}, ${milliseconds(percentile(pollsMs, 99))}`,
        {
          words: `under ${pollGoalMs} ms`,
          met: pollMs < pollGoalMs,
          reason: 'the database answers so slowly',
        },
      ),
      alone('first count in a daemon, owners included', seconds(countedMs), {
        words: `under ${seconds(firstCountGoalMs)}`,
        met: countedMs < firstCountGoalMs,
        reason: 'each owner is a document that is written to the store, with an event',
      }),
      alone(
        'p99 of checks meanwhile (median of half seconds, the worst one)',
        `${milliseconds(checkMs)}, ${milliseconds(Math.max(...p99s))}`,
        {
          words: `under ${checkGoalMs} ms`,
          met: checkMs < checkGoalMs,
          reason: 'the database, the reader, the store and who asks share the cores',
        },
      ),
      alone('memory afterwards (most)', megabytes(memory)),
    ],
  });
}

/** Reads to the end; gives the milliseconds. */
async function timed(reader: ForgeReader, mode: ReadMode): Promise<number> {
  const start = performance.now();
  for await (const _ of reader.read(mode));
  return performance.now() - start;
}

/** More owners, repositories, objects and packages than the fixture has, one in five objects in two repositories. */
function rows(): string {
  const base = 1_000_000;
  const ownerOf = (of: string) => `${base} + (${of}) % ${owners}`;
  const repositoryOf = (of: string) => `${base} + (${of}) % ${repositories}`;
  return `
    INSERT INTO "user" (id, lower_name, name, email, passwd, type, avatar, avatar_email, is_admin)
      SELECT ${base} + n, 'user-' || n, 'User-' || n, 'user-' || n || '@git.example', '', 0, '', '', false
      FROM generate_series(0, ${owners - 1}) n;
    INSERT INTO repository (id, owner_id, owner_name, lower_name, name, is_private)
      SELECT ${base} + n, ${ownerOf('n')}, 'User-' || n % ${owners}, 'project-' || n, 'project-' || n, n % 3 = 0
      FROM generate_series(0, ${repositories - 1}) n;
    INSERT INTO lfs_meta_object (id, oid, size, repository_id)
      SELECT ${base} + n, encode(sha256((n - n % 5 % 2)::text::bytea), 'hex'), 1000 + n % 1000, ${repositoryOf('n * 7')}
      FROM generate_series(0, ${objects - 1}) n;
    INSERT INTO package (id, owner_id, repo_id, type, name, lower_name)
      SELECT ${base} + n, ${ownerOf('n')}, 0, 'generic', 'package-' || n, 'package-' || n
      FROM generate_series(0, ${packages - 1}) n;
    INSERT INTO package_version (id, package_id, version, lower_version, created_unix)
      SELECT ${base} + n, ${base} + n, '1', '1', 0 FROM generate_series(0, ${packages - 1}) n;
    INSERT INTO package_blob (id, size, hash_md5, hash_sha1, hash_sha256, hash_sha512, created_unix)
      SELECT ${base} + n, 2000 + n % 1000, md5(n::text), md5(n::text), md5(n::text), md5(n::text), 0
      FROM generate_series(0, ${packages - 1}) n;
    INSERT INTO package_file (id, version_id, blob_id, name, lower_name, created_unix)
      SELECT ${base} + n, ${base} + n, ${base} + n, 'file', 'file', 0 FROM generate_series(0, ${packages - 1}) n;
    ANALYZE;`;
}
