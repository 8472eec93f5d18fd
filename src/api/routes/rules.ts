/** `/admin/quota/rules`. */

import { z } from 'zod';
import type { Snapshot } from '../../documents/index.ts';
import { createRule, deleteRule, editRule, mustBeRule, rulesIn } from '../../policy/index.ts';
import { knownName, newRule, rule, ruleEdit } from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { editOf, newRuleFrom, ruleShown } from './shapes.ts';

const path = '/admin/quota/rules/{rule}';
const params = z.object({ rule: knownName });

export function ruleRoutes({ documents }: ApiServices): readonly Route[] {
  const mustBe = (named: z.infer<typeof params>) => void mustBeRule(documents.snapshot, named.rule);
  return [
    route({
      id: 'listRules',
      path: '/admin/quota/rules',
      tag: 'policy',
      summary: 'All rules, in the order of creation',
      answer: { status: 200, description: 'Rules', schema: z.array(rule) },
      handle: () => rulesIn(documents.snapshot).map(ruleShown),
    }),
    route({
      id: 'createRule',
      method: 'post',
      path: '/admin/quota/rules',
      tag: 'policy',
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
    route({
      id: 'getRule',
      path,
      tag: 'policy',
      summary: 'One rule',
      params,
      faults: [404],
      answer: { status: 200, description: 'The rule', schema: rule },
      handle: ({ params: { rule: name } }) => shownOf(documents.snapshot, name),
    }),
    route({
      id: 'editRule',
      method: 'patch',
      path,
      tag: 'policy',
      summary: 'Change a rule in every group that has it',
      params,
      body: ruleEdit,
      faults: [404],
      mustBe,
      answer: { status: 200, description: 'The rule as it is now', schema: rule },
      handle: async ({ params: { rule: name }, body }, { caller }) =>
        ruleShown(await documents.transact(({ changes }) => editRule(changes, name, editOf(body)), caller)),
    }),
    route({
      id: 'deleteRule',
      method: 'delete',
      path,
      tag: 'policy',
      summary: 'Delete a rule, and remove it from every group',
      params,
      faults: [404],
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
