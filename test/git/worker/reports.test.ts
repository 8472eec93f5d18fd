/** Reports of the worker, as the daemon gets them. */

import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import t from 'tap';
import { Worker } from '../../../src/git/index.ts';
import { storage } from '../../layout/world.ts';
import { program, Repository } from './space/world.ts';

t.test('repositories that are measured one after the other are reported meanwhile', async t => {
  const repository = await Repository.holding(t, { file: 1000 });
  const { server } = repository;
  const paths = Array.from({ length: 60 }, (_, at) => server.path(`git/bob/r${at}.git`));
  for (const path of paths) await cp(repository.path, path, { recursive: true });

  const daemon = createServer();
  const reported = Promise.withResolvers<number>();
  daemon.on('upgrade', (_, socket) => {
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
    const upgrade =
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: softquota-worker\r\n';
    socket.write(`${upgrade}\r\n${JSON.stringify({ pushed: paths })}\n`);
    createInterface(socket).on('line', line => {
      const { length } = JSON.parse(line).report.repositories;
      if (length > 0) reported.resolve(length);
    });
  });
  daemon.listen(server.path('trusted.sock'));
  await once(daemon, 'listening');
  t.teardown(() => daemon.close());
  const worker = new Worker({
    trustedSocket: server.path('trusted.sock'),
    storages: [storage({ templates: [server.path('git/{owner}/{repo}.git')] })],
    exclude: [],
    isForge: false,
    hooks: null,
    gits: [program],
    isAlone: true,
    reclaim: { run: 'measure', expireMs: 3_600_000 },
    log: { error: () => {}, info: () => {}, warn: () => {} },
  });
  t.teardown(() => worker.close());
  await worker.start();
  const first = await reported.promise;
  t.ok(first < paths.length / 2, `${first} of ${paths.length} are in the first report`);
});
