/** What the daemon tells about itself. */

import { z } from 'zod';

export const finding = z
  .object({
    code: z.string(),
    severity: z
      .enum(['wrong', 'notice'])
      .meta({ description: '`wrong` has to be mended; a `notice` may be meant.' }),
    message: z.string().meta({ description: 'One line; names in it are harmless on a terminal.' }),
    mend: z.string().meta({ description: 'What to do, a command where there is one.' }),
  })
  .meta({ id: 'Finding' });

export type Finding = z.infer<typeof finding>;

export const versionReport = z.object({ version: z.string() }).meta({ id: 'Version' });
