/** Graces of a running daemon. */

import { z } from 'zod';
import { until } from './ask.ts';
import type { Server } from './server.ts';

const backup = z.looseObject({ graces: z.array(z.unknown()).default([]) });

/**
 * Resolves once the graces of so many owners are on record. Until then each answer is as if one began at that
 * moment.
 */
export async function graceBegun(server: Server, owners = 1): Promise<void> {
  await until(async () => {
    const { stdout } = await server.softquota('backup -');
    return backup.parse(JSON.parse(stdout)).graces.length >= owners ? true : null;
  });
}
