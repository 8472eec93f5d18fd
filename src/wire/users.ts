/** Users and organizations, in the JSON that Forgejo's clients know. */

import { z } from 'zod';
import { ownerType } from './usage.ts';

export const user = z
  .object({
    id: z.number().int(),
    login: z.string(),
    username: z.string().meta({ description: 'The same as `login`.' }),
    type: ownerType,
    email: z.string().meta({ description: 'Empty where it is not known, as `full_name` is.' }),
    full_name: z.string(),
    is_admin: z.boolean(),
    created: z.string().meta({ description: 'When the owner was first heard of, in ISO 8601.' }),
  })
  .meta({ id: 'User', description: 'A user or an organization.' });

export type User = z.infer<typeof user>;
