/** Signing in by a source: which there are. */

import { z } from 'zod';

export const offeredSource = z
  .object({
    id: z.string(),
    name: z.string(),
    href: z.string().meta({
      description:
        'The address where a sign-in begins, relative to the base URL; `?return_to=` can name a page below it to return to.',
    }),
  })
  .meta({ id: 'OfferedSource' });

export type OfferedSource = z.infer<typeof offeredSource>;
