/** A daemon beside a real forge: what `softquota init` finds there, and how soon a change counts. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { z } from 'zod';
import { until } from '../e2e/ask.ts';
import type { Server } from '../e2e/server.ts';
import { ownTime } from '../own-time.ts';
import { namedStorages } from './storages.ts';

/** All that changes figures counts within this time. */
const promisedMs = 2000;

/** Output of `softquota init --json`, as far as it is looked at. */
const report = z.object({
  layout: z.string(),
  largest: z.array(z.object({ name: z.string(), total: z.number() })),
  forge: z.object({ kind: z.string(), fault: z.null() }),
});

/**
 * One command finds the forge, and counts everything to the byte. `lfsBytes`: of Alice, beside repositories.
 */
export async function isFound(
  t: Test,
  server: Server,
  kind: string,
  folder: string,
  repositories: string,
  lfsBytes: number,
): Promise<void> {
  const config = join(server.folder, 'new.ini');
  const found = await server.softquota(['init', folder, '--config', config, '--json']);
  t.equal(found.code, 0, found.stderr);
  const { layout, largest, forge } = report.parse(JSON.parse(found.stdout));
  t.match({ layout, forge }, { layout: kind, forge: { kind } });
  const total = (await bytesBelow(join(repositories, 'alice'))) + lfsBytes;
  t.match(largest[0], { name: 'Alice', total });
}

async function bytesBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile());
  const sizes = await Promise.all(
    files.map(async file => (await stat(join(file.parentPath, file.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Starts the daemon beside the forge. `comes`: a change counts in time. */
export async function startBeside(
  t: Test,
  server: Server,
  kind: string,
  config: string,
  repositories: string,
) {
  await server.configure({ forge: { KIND: kind, CONFIG: config }, ...namedStorages(repositories) });
  await server.start();
  const comes = async (what: string, isSo: () => Promise<boolean>) => {
    const passed = ownTime();
    await until(
      async () => (await isSo()) || null,
      () => `${what}: it did not come\n${server.daemon.log}`,
    );
    const ms = Math.round(passed());
    t.ok(ms <= promisedMs, `${what}: after ${ms} ms`);
  };
  const has = (owner: string, leaf: string, bytes: number | undefined) => async () =>
    (await server.usageByLeaf(owner))[leaf] === bytes;
  return { comes, has };
}
