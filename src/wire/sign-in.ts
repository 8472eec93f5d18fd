/** Signing in by a source: which there are. */

import { z } from 'zod';

export const offeredSource = z
  .object({
    id: z.string(),
    name: z.string(),
    href: z.string().meta({
      description:
        'Where signing in begins, relative to the base URL; `?return_to=` may name a page below it to come back to.',
    }),
  })
  .meta({ id: 'OfferedSource' });

export type OfferedSource = z.infer<typeof offeredSource>;
