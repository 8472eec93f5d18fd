/** Reports of the worker, as the daemon gets them. */

import { cp } from 'node:fs/promises';
import t from 'tap';
import { WorkerLink } from '../../../src/gate/index.ts';
import { Worker } from '../../../src/git/index.ts';
import { takeWorkers } from '../../gate/fake-worker.ts';
import { storage } from '../../layout/world.ts';
import { program, Repository } from './space/world.ts';

t.test('repositories that are measured one after the other are reported meanwhile', async t => {
  const repository = await Repository.holding(t, { file: 1000 });
  const { server } = repository;
  const paths = Array.from({ length: 60 }, (_, at) => server.path(`git/bob/r${at}.git`));
  for (const path of paths) await cp(repository.path, path, { recursive: true });

  const reported = Promise.withResolvers<number>();
  const link = new WorkerLink({
    mark: () => 'mark',
    reported: ({ repositories: { length } }) => {
      if (length > 0) reported.resolve(length);
    },
  });
  t.teardown(() => link.close());
  await takeWorkers(t, server.path('trusted.sock'), link);
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
  await link.connection();
  for (const path of paths) link.tell(path, 'pushed');
  const first = await reported.promise;
  t.ok(first < paths.length / 2, `${first} of ${paths.length} are in the first report`);
});
