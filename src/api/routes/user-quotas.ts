/** `/admin/users/{user}/quota`: the usage of any owner, its groups, and extra bytes for a time. */

import { z } from 'zod';
import {
  allowancesOf,
  auditAllowance,
  createAllowance,
  endAllowance,
  setGroups,
} from '../../policy/index.ts';
import { allowance, knownName, mark, newAllowance, ownersGroups, quotaInfo } from '../../wire/index.ts';
import { knownOwner, mustNotGiveThemselves, ownerToAssign } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { allowanceShown, quotaShown } from './shapes.ts';

const params = z.object({ user: knownName });

export function userQuotaRoutes({ documents, ledger, autoCreate, now }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'getQuotaOfUser',
      path: '/admin/users/{user}/quota',
      tag: 'owners',
      summary: 'The usage of a user or an organization, and its effective groups',
      params,
      faults: [404],
      answer: { status: 200, description: 'Use and groups', schema: quotaInfo },
      handle: named => {
        const owner = knownOwner(ledger, named.params.user);
        const groups = ledger.policy.groupsOf(owner.id, ledger.settings.defaultGroups);
        const allowances = allowancesOf(documents.snapshot, owner.id, now());
        return quotaShown(owner, groups, allowances.map(allowanceShown));
      },
    }),
    route({
      id: 'setGroupsOfUser',
      method: 'post',
      path: '/admin/users/{user}/quota/groups',
      tag: 'owners',
      summary: 'Add a user or an organization to these groups, and remove it from all others',
      description: 'With `[users] AUTO_CREATE = true` an unknown user is created.',
      params,
      body: ownersGroups,
      faults: [404],
      mustBe: named => {
        if (!autoCreate) knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'The groups are set' },
      handle: (named, { caller }) =>
        documents.transact(transaction => {
          const { id } = ownerToAssign(transaction, named.params.user, autoCreate);
          setGroups(transaction.changes, id, named.body.groups);
        }, caller),
    }),
  ];
}

const allowancesPath = '/admin/users/{user}/quota/allowances';

export function allowanceRoutes({ documents, ledger, now }: ApiServices): readonly Route[] {
  const mustBe = (named: z.infer<typeof params>) => void knownOwner(ledger, named.user);
  return [
    route({
      id: 'listAllowances',
      path: allowancesPath,
      tag: 'owners',
      summary: 'The allowances of a user or an organization that have not ended, the first to end first',
      params,
      faults: [404],
      answer: { status: 200, description: 'Allowances', schema: z.array(allowance) },
      handle: named => {
        const { id } = knownOwner(ledger, named.params.user);
        return allowancesOf(documents.snapshot, id, now()).map(allowanceShown);
      },
    }),
    route({
      id: 'createAllowance',
      method: 'post',
      path: allowancesPath,
      tag: 'owners',
      summary: 'Give a user or an organization extra bytes for a limited time',
      description:
        'They are on top of each limit above 0 that applies to the owner, and end automatically. Nobody can give them to ' +
        'themselves, or to an organization that they own.',
      params,
      body: newAllowance,
      faults: [404, 409],
      mustBe,
      answer: { status: 201, description: 'The allowance', schema: allowance },
      handle: async (named, { caller }) => {
        mustNotGiveThemselves(documents, caller, { ownerId: knownOwner(ledger, named.params.user).id });
        const { bytes, until, why } = named.body;
        const created = await documents.transact(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          const document = createAllowance(transaction.changes, owner.id, {
            bytes,
            until: Date.parse(until),
            why,
            grantedBy: caller.name,
            grantedAt: now(),
            request: null,
            automatic: false,
          });
          transaction.auditAs(auditAllowance(owner, 'granted', document));
          return document;
        }, caller);
        return allowanceShown(created);
      },
    }),
    route({
      id: 'endAllowance',
      method: 'delete',
      path: `${allowancesPath}/{id}`,
      tag: 'owners',
      summary: 'End an allowance now',
      params: params.extend({ id: mark }),
      faults: [404],
      mustBe,
      answer: { status: 204, description: 'It has ended' },
      handle: (named, { caller }) =>
        documents.transact(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          const ended = endAllowance(transaction.changes, owner.id, named.params.id);
          transaction.auditAs(auditAllowance(owner, 'ended', ended));
        }, caller),
    }),
  ];
}
