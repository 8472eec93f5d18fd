/**
 * The owners that `/user/quota…` and `/orgs/{org}/quota…` are about: both have the same operations.
 *
 * Users see their own quota; owners of an organization, and administrators, see that of the organization.
 */

import { SoftquotaError } from '../../errors.ts';
import { type Caller, mustBeOrganization } from '../../identity/index.ts';
import { printable } from '../../text/index.ts';
import { type KnownOwner, knownOwner, roleOver } from '../owners.ts';
import { listAddress } from '../pages.ts';
import type { Tag } from '../route.ts';
import type { ApiServices } from '../services.ts';

/** The names in a path of an operation. */
export type Named = Readonly<Partial<Record<'org' | 'id', string>>>;

export interface OwnerScope {
  /** The end of the names of its operations. */
  readonly of: 'Caller' | 'Organization';
  readonly path: '/user/quota' | '/orgs/{org}/quota';
  /** The parts of an operation that follow from its scope. */
  readonly read: ScopeParts;
  readonly write: ScopeParts;
  /** Throws `not_found`, the same whether it is not there or nothing to the caller, or `not_permitted`. */
  owner(named: Named, caller: Caller): KnownOwner;
}

interface ScopeParts {
  readonly tag: Tag;
  readonly access: { readonly area: 'user' | 'organization'; readonly to: 'read' | 'write' };
  readonly faults: readonly [400, 404, 422];
}

type Services = Pick<ApiServices, 'ledger'>;

export function ownerScopes(services: Services): readonly OwnerScope[] {
  return [
    {
      of: 'Caller',
      path: '/user/quota',
      ...partsOf('own', 'user'),
      owner: (_named, caller) => callerAsOwner(services, caller),
    },
    {
      of: 'Organization',
      path: '/orgs/{org}/quota',
      ...partsOf('organizations', 'organization'),
      owner: ({ org = '' }, caller) => visibleOrganization(services, org, caller),
    },
  ];
}

function partsOf(tag: Tag, area: ScopeParts['access']['area']): Pick<OwnerScope, 'read' | 'write'> {
  const faults = [400, 404, 422] as const;
  return {
    read: { tag, faults, access: { area, to: 'read' } },
    write: { tag, faults, access: { area, to: 'write' } },
  };
}

/** The address of an operation for the owner of this name, where pages of it lie. */
export function addressIn({ path }: OwnerScope, baseUrl: string, name: string, below: string): URL {
  return listAddress(baseUrl, `${path.replace('{org}', encodeURIComponent(name))}${below}`);
}

function callerAsOwner({ ledger }: Services, { name }: Caller): KnownOwner {
  const owner = name === null ? null : ledger.ownerUsage(name);
  if (owner !== null && owner.id !== null) return { ...owner, id: owner.id };
  throw new SoftquotaError(
    'not_found',
    "this host's administrator is no user; /admin/users/{user}/quota shows the quota of each user",
  );
}

function visibleOrganization({ ledger }: Services, name: string, caller: Caller): KnownOwner {
  if (caller.mayRead('admin')) {
    const owner = knownOwner(ledger, name);
    mustBeOrganization(owner);
    return owner;
  }
  const { id, ...usage } = ledger.ownerUsage(name);
  const role = id === null || usage.type === 'user' ? null : roleOver(ledger.documents, id, caller);
  if (id !== null && role === 'owner') return { ...usage, id };
  if (role === 'member') {
    throw new SoftquotaError('not_permitted', 'only owners of the organization see its quota');
  }
  // A stranger to the organization does not learn whether there is one.
  throw new SoftquotaError(
    'not_found',
    `there is no organization ${printable(name)} that you belong to; with the scope read:admin an administrator sees any`,
  );
}
