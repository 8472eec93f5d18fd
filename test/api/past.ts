/** Usage of days that a world was not there for. */

import { join } from 'node:path';
import { usageOf } from '../../src/quota/index.ts';
import { openStore } from '../../src/store/index.ts';
import { history } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import type { World } from './world.ts';

/** Resolves with the recording of the first hour, which follows the first sweep. */
export async function recorded(world: World): Promise<void> {
  await until(async () => {
    return history.parse(await world.get('/admin/quota/history')).points.length > 0 ? true : null;
  });
}

/**
 * Stores as if the daemon had recorded so many bytes in alice's LFS store, and no others, at this time of the
 * last days, today's last.
 */
export async function remember(world: World, sizes: readonly number[]): Promise<void> {
  await world.close();
  const store = await openStore({ file: join(world.directory, 'data/softquota.db') });
  const { owners } = await store.load();
  const ownerId = owners.find(({ name }) => name === 'alice')?.id ?? 0;
  for (const [ago, bytes] of sizes.toReversed().entries()) {
    const at = Date.now() - ago * 86_400_000;
    const hour = Math.floor(at / 3_600_000);
    const usage = usageOf({ 'size:git:lfs': bytes });
    await store.recordOwners(hour, [{ ownerId, usage }]);
    await store.recordHour({ hour, at, usage });
  }
  await store.close();
  await world.start();
}
