/** The worker beside a git server under quota, in this process. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { Worker, type WorkerOptions } from '../../src/worker/index.ts';
import type { Server } from './server.ts';

/** It ends with the test. */
export async function withWorker(
  t: Test,
  server: Server,
  reclaim: Pick<NonNullable<WorkerOptions['reclaim']>, 'run' | 'roundEveryMs'>,
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
    reclaim: { expireMs: 3_600_000, gitVersion: { major: 2, minor: 39 }, ...reclaim },
    log: { info: () => {}, warn: () => {} },
  });
  await worker.start();
  t.teardown(() => worker.close());
  return worker;
}
