/** `/admin/users/{user}/quota`: what any owner uses, and the groups of it. */

import { z } from 'zod';
import { allowancesOf, setGroups } from '../../policy/index.ts';
import { knownName, ownersGroups, quotaInfo } from '../../wire/index.ts';
import { knownOwner, ownerToAssign } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { allowanceShown } from './asked.ts';
import { quotaShown } from './shapes.ts';

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
