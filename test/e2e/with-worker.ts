/** A worker beside a test's server, in this process. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { findGits, Worker, type WorkerOptions } from '../../src/git/index.ts';
import { storage } from '../layout/world.ts';
import type { Server } from './server.ts';

const { gits } = await findGits(['git']);

/** Starts one, which is closed with the test; `reclaim` is null for `[reclaim] RUN = never`. */
export async function withWorker(
  t: Test,
  server: Server,
  reclaim: Partial<NonNullable<WorkerOptions['reclaim']>> | null = {},
  follow: readonly string[] = [],
): Promise<Worker> {
  const worker = new Worker({
    trustedSocket: server.socket('trusted'),
    storages: [storage({ templates: [join(server.folder, 'git/{owner}/{repo}.git')], follow })],
    exclude: [],
    isForge: false,
    hooks: null,
    gits,
    isAlone: true,
    reclaim: reclaim && { run: 'gc', expireMs: 3_600_000, ...reclaim },
    log: { error: () => {}, info: () => {}, warn: () => {} },
  });
  await worker.start();
  t.teardown(() => worker.close());
  return worker;
}
