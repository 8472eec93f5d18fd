/** `/admin/users/{user}/quota…`: the usage of any owner, its groups, and its allowances. */

import { z } from 'zod';
import * as policy from '../../policy/index.ts';
import * as wire from '../../wire/index.ts';
import { knownOwner, mustNotGiveThemselves, ownerToAssign } from '../owners.ts';
import { deleteRoute, getRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { allowanceShown, groupShown, quotaShown } from './shapes.ts';

export function userQuotaRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, autoCreate, now } = services;
  const mustBe = (named: { readonly user: string }) => void knownOwner(ledger, named.user);
  return [
    getRoute('getQuotaOfUser', '/admin/users/{user}/quota', {
      summary: 'The usage of a user or an organization, and its effective groups',
      answer: { status: 200, description: 'Use and groups', schema: wire.quotaInfo },
      handle: named => quotaShown(services, knownOwner(ledger, named.params.user), groupShown),
    }),
    postRoute('setGroupsOfUser', '/admin/users/{user}/quota/groups', {
      summary: 'Add a user or an organization to these groups, and remove it from all others',
      description: 'With `[users] AUTO_CREATE = true` an unknown user is created.',
      body: wire.ownersGroups,
      mustBe: named => {
        if (!autoCreate) knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'The groups are set' },
      handle: (named, { change }) =>
        change(transaction => {
          const { id } = ownerToAssign(transaction, named.params.user, autoCreate);
          policy.setGroups(transaction.changes, id, named.body.groups);
        }),
    }),
    getRoute('listAllowances', allowancesPath, {
      summary: 'The allowances of a user or an organization that have not ended, the first to end first',
      answer: { status: 200, description: 'Allowances', schema: z.array(wire.allowance) },
      handle: named => {
        const { id } = knownOwner(ledger, named.params.user);
        return policy.allowancesOf(documents.snapshot, id, now()).map(allowanceShown);
      },
    }),
    postRoute('createAllowance', allowancesPath, {
      summary: 'Give a user or an organization extra bytes for a limited time',
      description:
        'They are on top of each limit above 0 that applies to the owner, and end automatically. Nobody can give them to ' +
        'themselves, or to an organization that they own.',
      body: wire.newAllowance,
      faults: [404, 409],
      mustBe,
      answer: { status: 201, description: 'The allowance', schema: wire.allowance },
      handle: async (named, { caller, change }) => {
        mustNotGiveThemselves(documents, caller, { ownerId: knownOwner(ledger, named.params.user).id });
        const { bytes, until, why } = named.body;
        const created = await change(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          const document = policy.createAllowance(transaction.changes, owner.id, {
            bytes,
            until: Date.parse(until),
            why,
            grantedBy: caller.name,
            grantedAt: now(),
            request: null,
            automatic: false,
          });
          transaction.auditAs(policy.auditAllowance(owner, 'granted', document));
          return document;
        });
        return allowanceShown(created);
      },
    }),
    deleteRoute('endAllowance', `${allowancesPath}/{id}`, {
      summary: 'End an allowance now',
      mustBe,
      answer: { status: 204, description: 'It has ended' },
      handle: (named, { change }) =>
        change(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          const ended = policy.endAllowance(transaction.changes, owner.id, named.params.id);
          transaction.auditAs(policy.auditAllowance(owner, 'ended', ended));
        }),
    }),
  ];
}

const allowancesPath = '/admin/users/{user}/quota/allowances';
