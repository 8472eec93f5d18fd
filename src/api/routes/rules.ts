/** `/admin/quota/rules`. */

import { z } from 'zod';
import type { Snapshot } from '../../documents/index.ts';
import { createRule, deleteRule, editRule, mustBeRule, rulesIn } from '../../policy/index.ts';
import { knownName, newRule, rule, ruleEdit } from '../../wire/index.ts';
import { deleteRoute, getRoute, patchRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { editOf, newRuleFrom, ruleShown } from './shapes.ts';

const one = { path: '/admin/quota/rules/{rule}', params: z.object({ rule: knownName }) } as const;

export function ruleRoutes({ documents }: ApiServices): readonly Route[] {
  return [
    getRoute({
      id: 'listRules',
      path: '/admin/quota/rules',
      summary: 'All rules, in the order of creation',
      answer: { status: 200, description: 'Rules', schema: z.array(rule) },
      handle: () => rulesIn(documents.snapshot).map(ruleShown),
    }),
    postRoute({
      id: 'createRule',
      path: '/admin/quota/rules',
      summary: 'Create a rule',
      description: 'It limits nobody until it is in a group.',
      body: newRule,
      faults: [409],
      answer: { status: 201, description: 'The rule', schema: rule },
      handle: async ({ body }, { caller }) => {
        const created = newRuleFrom(body);
        await documents.transact(({ changes }) => createRule(changes, created), caller);
        return ruleShown(created);
      },
    }),
    getRoute({
      id: 'getRule',
      ...one,
      summary: 'One rule',
      answer: { status: 200, description: 'The rule', schema: rule },
      handle: ({ params: { rule: name } }) => shownOf(documents.snapshot, name),
    }),
    patchRoute({
      id: 'editRule',
      ...one,
      summary: 'Change a rule in every group that has it',
      body: ruleEdit,
      mustBe: named => void mustBeRule(documents.snapshot, named.rule),
      answer: { status: 200, description: 'The rule as it is now', schema: rule },
      handle: async ({ params: { rule: name }, body }, { caller }) =>
        ruleShown(await documents.transact(({ changes }) => editRule(changes, name, editOf(body)), caller)),
    }),
    deleteRoute({
      id: 'deleteRule',
      ...one,
      summary: 'Delete a rule, and remove it from every group',
      answer: { status: 204, description: 'It is gone' },
      handle: ({ params: { rule: name } }, { caller }) =>
        documents.transact(({ changes }) => deleteRule(changes, name), caller),
    }),
  ];
}

/** Throws `not_found`. */
function shownOf(snapshot: Snapshot, name: string): z.infer<typeof rule> {
  const { place: _, ...fields } = mustBeRule(snapshot, name);
  return ruleShown({ name, ...fields });
}
