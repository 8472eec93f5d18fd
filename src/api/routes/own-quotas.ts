/** `/user/quota` and `/orgs/{org}/quota`: what owners see of their own, without the names of rules and groups. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { type Caller, mustBeOrganization } from '../../identity/index.ts';
import type { OwnerUsage } from '../../ledger/index.ts';
import { type Leaf, leafMask, leaves, type Subject } from '../../quota/index.ts';
import { askedSubject, knownName, ownQuotaInfo, usedUnit } from '../../wire/index.ts';
import type { Access } from '../access.ts';
import { knownOwner } from '../owners.ts';
import { type Route, route, type Tag } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { ownQuotaShown } from './shapes.ts';

/** Lists of units, each with the subject of what is in it. */
const lists = {
  artifacts: 'size:assets:artifacts',
  attachments: 'size:assets:attachments:all',
  packages: 'size:assets:packages:all',
} as const satisfies Readonly<Record<string, Subject>>;

/** Whose quota it is. */
interface Whose<Params extends z.ZodType> {
  /** Ends the names of its operations. */
  readonly of: string;
  readonly path: string;
  readonly tag: Tag;
  readonly access: Access;
  readonly params: Params;
  /** Throws `not_found` or `not_permitted`. */
  owner(params: z.output<Params>, caller: Caller): OwnerUsage & { readonly id: number };
}

export function ownQuotaRoutes(services: ApiServices): readonly Route[] {
  const { ledger, identity } = services;
  return [
    ...quotaRoutes(services, {
      of: 'Caller',
      path: '/user/quota',
      tag: 'own',
      access: { area: 'user', to: 'read' },
      params: z.object({}),
      owner: (_params, caller) => {
        const owner = caller.name === null ? null : ledger.ownerUsage(caller.name);
        if (owner === null || owner.id === null) {
          throw new SoftquotaError(
            'not_found',
            "this machine's administrator is no user; /admin/users/{user}/quota has any user's quota",
          );
        }
        return { ...owner, id: owner.id };
      },
    }),
    ...quotaRoutes(services, {
      of: 'Organization',
      path: '/orgs/{org}/quota',
      tag: 'organizations',
      access: { area: 'organization', to: 'read' },
      params: z.object({ org: knownName }),
      owner: ({ org }, caller) => {
        const owner = knownOwner(ledger, org);
        mustBeOrganization(owner);
        if (
          caller.isAdmin ||
          (caller.ownerId !== null && identity.isOrganizationOwner(owner.id, caller.ownerId))
        ) {
          return owner;
        }
        throw new SoftquotaError('not_permitted', 'only owners of the organization see its quota');
      },
    }),
  ];
}

const place = z.coerce.number<string>().int().min(1);

/** Whoever asks for no page gets all. */
const unitsQuery = z.object({
  page: place.optional().meta({ description: 'From 1.' }),
  limit: place.max(1000).optional().meta({ description: 'How many on a page; all without it.' }),
});

function quotaRoutes<Params extends z.ZodObject>(
  { ledger }: ApiServices,
  { of, path, tag, access, params, owner }: Whose<Params>,
): readonly Route[] {
  const common = { method: 'get', tag, access, params, faults: [404] } as const;
  return [
    route({
      ...common,
      id: `getQuotaOf${of}`,
      path,
      summary: 'What is used, and what limits it',
      answer: { status: 200, description: 'Use and limits', schema: ownQuotaInfo },
      handle: (input, { caller }) => {
        const found = owner(input.params, caller);
        return ownQuotaShown(found, ledger.policy.groupsOf(found.id, ledger.settings.defaultGroups));
      },
    }),
    route({
      ...common,
      id: `checkQuotaOf${of}`,
      path: `${path}/check`,
      summary: 'Whether something that grows this may start',
      query: z.object({ subject: askedSubject }),
      answer: { status: 200, description: 'Yes or no', schema: z.boolean() },
      handle: (input, { caller }) => {
        const { name } = owner(input.params, caller);
        return ledger.decide(name, input.query.subject).decision.allowed || ledger.settings.mode === 'report';
      },
    }),
    ...Object.entries(lists).map(([list, subject]) =>
      route({
        ...common,
        id: `list${list[0]?.toUpperCase()}${list.slice(1)}Of${of}`,
        path: `${path}/${list}`,
        summary: `The ${list} that take space, largest first`,
        query: unitsQuery,
        answer: { status: 200, description: 'Units', schema: z.array(usedUnit) },
        handle: (input, { caller }) => {
          const within = leavesOf(subject);
          const { page = 1, limit = Number.POSITIVE_INFINITY } = input.query;
          return ledger.sharing
            .unitsOf(owner(input.params, caller).name)
            .filter(({ leaf }) => within.includes(leaf))
            .slice(page === 1 ? 0 : (page - 1) * limit, page * limit)
            .map(({ name, bytes }) => ({ name, size: bytes }));
        },
      }),
    ),
  ];
}

function leavesOf(subject: Subject): readonly Leaf[] {
  return leaves.filter(leaf => (leafMask(leaf) & leafMask(subject)) !== 0);
}
