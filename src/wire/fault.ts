/** The body of every answer of 400 and above. */

import { z } from 'zod';

export const fault = z
  .object({
    message: z.string().meta({ description: 'The error, with the name of every wrong field.' }),
    code: z
      .string()
      .meta({ description: 'The kind of error, which stays the same; docs/errors.md has the list.' }),
    url: z.string().meta({ description: 'The description of this API.' }),
  })
  .meta({ id: 'Fault' });

export type Fault = z.infer<typeof fault>;
