/** Reports of the daemon about itself. */

import { z } from 'zod';

export const finding = z
  .object({
    code: z.string(),
    severity: z
      .enum(['wrong', 'notice'])
      .meta({ description: '`wrong` has to be fixed; a `notice` may be intended.' }),
    message: z.string().meta({ description: 'One line, without control characters.' }),
    mend: z.string().meta({ description: 'The fix: a command, if there is one, or a text.' }),
  })
  .meta({ id: 'Finding' });

export type Finding = z.infer<typeof finding>;

export const versionReport = z.object({ version: z.string() }).meta({ id: 'Version' });
