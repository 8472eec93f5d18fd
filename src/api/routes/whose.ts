/** The owner whom `/user/quota…` and `/orgs/{org}/quota…` are about, and who may see it. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { type Caller, mustBeOrganization } from '../../identity/index.ts';
import type { OwnerUsage } from '../../ledger/index.ts';
import { printable } from '../../text/index.ts';
import { knownName } from '../../wire/index.ts';
import type { Requirement } from '../access.ts';
import { knownOwner } from '../owners.ts';
import type { Tag } from '../route.ts';
import type { ApiServices } from '../services.ts';

export interface Whose<Params extends z.ZodType> {
  /** Ends the names of its operations. */
  readonly of: string;
  readonly path: string;
  readonly tag: Tag;
  readonly access: Requirement;
  readonly params: Params;
  /** Throws `not_found`, the same whether it is not there or nothing to the caller, or `not_permitted`. */
  owner(params: z.output<Params>, caller: Caller): OwnerUsage & { readonly id: number };
}

type Services = Pick<ApiServices, 'ledger' | 'identity'>;

const nobody = z.object({});
const organization = z.object({ org: knownName });

export function callersOwn({ ledger }: Services): Whose<typeof nobody> {
  return {
    of: 'Caller',
    path: '/user/quota',
    tag: 'own',
    access: { area: 'user', to: 'read' },
    params: nobody,
    owner: (_params, caller) => {
      const owner = caller.name === null ? null : ledger.ownerUsage(caller.name);
      if (owner === null || owner.id === null) {
        throw new SoftquotaError(
          'not_found',
          "this host's administrator is no user; /admin/users/{user}/quota shows the quota of each user",
        );
      }
      return { ...owner, id: owner.id };
    },
  };
}

export function organizationsOwn({ ledger, identity }: Services): Whose<typeof organization> {
  return {
    of: 'Organization',
    path: '/orgs/{org}/quota',
    tag: 'organizations',
    access: { area: 'organization', to: 'read' },
    params: organization,
    owner: ({ org }, caller) => {
      if (caller.mayRead('admin')) {
        const owner = knownOwner(ledger, org);
        mustBeOrganization(owner);
        return owner;
      }
      const { id, ...usage } = ledger.ownerUsage(org);
      const role = id === null || caller.ownerId === null ? null : identity.roleIn(id, caller.ownerId);
      if (id !== null && role === 'owner') return { ...usage, id };
      if (role === 'member') {
        throw new SoftquotaError('not_permitted', 'only owners of the organization see its quota');
      }
      // Who does not belong to it does not learn whether there is one.
      throw new SoftquotaError(
        'not_found',
        `there is no organization ${printable(org)} that you belong to; with the scope read:admin an administrator sees any`,
      );
    },
  };
}
