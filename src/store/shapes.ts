/** Shapes of records that come from a file or another host. Times are milliseconds since 1970. */

import { z } from 'zod';

export const whole = z.number().int();

export const ownerShape = z.strictObject({
  key: z.string(),
  id: whole,
  name: z.string(),
  type: z.enum(['user', 'organization']),
  since: whole,
});

export const documentShape = z.strictObject({ kind: z.string(), key: z.string(), text: z.string() });
