/** Users, organizations and who belongs to them, in the JSON that Forgejo's clients know. */

import { z } from 'zod';
import { longestName } from '../quota/index.ts';
import { emailPattern, longestEmail } from '../text/index.ts';
import { text } from './bounds.ts';
import { nameOrNothing, newName } from './policy.ts';
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

/** Null is as good as left out. */
const fields = {
  type: ownerType.nullish(),
  email: text.meta({ maxLength: longestEmail, pattern: `^(${emailPattern})?$` }).nullish(),
  full_name: text.meta({ maxLength: longestName, pattern: nameOrNothing }).nullish(),
  is_admin: z.boolean().nullish(),
};

export const newUser = z.object({ username: newName, ...fields }).meta({ id: 'NewUser' });

export type NewUser = z.infer<typeof newUser>;

export const userEdit = z.object({ username: newName.nullish(), ...fields }).meta({
  id: 'UserEdit',
  description: 'What is left out stays; `username` renames.',
});

export type UserEdit = z.infer<typeof userEdit>;

const role = z.enum(['owner', 'member']).meta({ description: 'Owners see the quota of the organization.' });

export const membership = z.object({ role }).meta({ id: 'Membership' });

export const member = user.extend({ role }).meta({ id: 'Member' });

export type Member = z.infer<typeof member>;
