/**
 * Repositories that a server removes, forks and renames: usage follows, though nobody says so and no sweep
 * runs.
 */

import { cp, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import t from 'tap';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { Server } from './server.ts';

t.test('usage follows deletions, forks and renames without a sweep', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const bare = server.path('alice/app');
  const clone = await Clone.of(server, bare);
  await clone.commit(500_000);
  await clone.push();
  const used = await counted(bare);
  await server.usageIs('alice', bytes => bytes === used);

  await cp(bare, server.path('bob/fork'), { recursive: true });
  await server.usageIs('bob', bytes => bytes > 500_000);
  await rename(dirname(server.path('bob/fork')), dirname(server.path('robert/fork')));
  await server.usageIs('robert', bytes => bytes > 500_000);
  await server.usageIs('bob', bytes => bytes === 0);
  t.equal(await server.usage('alice'), used);

  await rm(bare, { recursive: true });
  await server.usageIs('alice', bytes => bytes === 0);
  const sweeps = JSON.parse((await server.ask('admin', '/api/v1/admin/quota/scans')).text);
  t.equal(sweeps.length, 1, 'only the one at the start');
});
