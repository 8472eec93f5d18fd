/** A worker beside a test's server, in this process. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { Worker, type WorkerOptions } from '../../src/git/index.ts';
import type { Server } from './server.ts';

/** Starts one, which is closed with the test. */
export async function withWorker(
  t: Test,
  server: Server,
  reclaim: Partial<NonNullable<WorkerOptions['reclaim']>> = {},
): Promise<Worker> {
  const worker = new Worker({
    trustedSocket: server.socket('trusted'),
    storages: [
      {
        kind: 'repos',
        templates: [join(server.folder, 'git/{owner}/{repo}.git')],
        owner: { by: 'path' },
        visibility: 'private',
      },
    ],
    exclude: [],
    isForge: false,
    guard: null,
    reclaim: { run: 'gc', expireMs: 3_600_000, gitVersion: { major: 2, minor: 39 }, ...reclaim },
    log: { info: () => {}, warn: () => {} },
  });
  await worker.start();
  t.teardown(() => worker.close());
  return worker;
}
