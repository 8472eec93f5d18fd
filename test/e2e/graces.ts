/** Graces of a running daemon. */

import { z } from 'zod';
import { until } from './ask.ts';
import type { Server } from './server.ts';

const backup = z.looseObject({ graces: z.array(z.unknown()).default([]) });

/** Resolves once somebody's grace is on record. Until then each answer is as if it began at that moment. */
export async function graceBegun(server: Server): Promise<void> {
  await until(async () => {
    const { stdout } = await server.softquota(['backup', '-']);
    return backup.parse(JSON.parse(stdout)).graces.length > 0 ? true : null;
  });
}
