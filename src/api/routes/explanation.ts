/** The whole reasoning of a decision, for administrators and owners. */

import type { Decision, ExplainedStep, Subject } from '../../quota/index.ts';
import { askedSize, askedSubject, type Explanation } from '../../wire/index.ts';
import type { ApiServices } from '../services.ts';
import { allowanceAdded, graceAdded, verdictShown } from './shapes.ts';

/** The parameters that say which decision. */
export const askedDecision = { subject: askedSubject, size: askedSize } as const;

export function explanationOf(
  { ledger }: Pick<ApiServices, 'ledger'>,
  name: string,
  { subject, size }: { readonly subject: Subject; readonly size: number },
): Explanation {
  const { settings, addingBytes, steps, decision, reporting } = ledger.explain(name, subject, size);
  const { enabled, refuseWhen, uncovered, precise, mode, totalBytes } = settings;
  return {
    subject,
    settings: {
      enabled,
      refuse_when: refuseWhen,
      uncovered,
      precise,
      mode,
      total_bytes: totalBytes,
    },
    adding_bytes: addingBytes,
    steps: steps.map(stepShown),
    decision: decisionShown(decision),
    ...(reporting === undefined
      ? {}
      : {
          reporting: { steps: reporting.steps.map(stepShown), decision: decisionShown(reporting.decision) },
        }),
  };
}

function stepShown({ step, groups }: ExplainedStep): Explanation['steps'][number] {
  return {
    step,
    groups: groups.map(group => ({
      ...group,
      rules: group.rules.map(({ allowance, grace, ...rule }) => ({
        ...rule,
        ...allowanceAdded(allowance),
        ...graceAdded(grace),
      })),
    })),
  };
}

function decisionShown(decision: Decision): Explanation['decision'] {
  const { by, step, subjects, warnPercent } = decision;
  return {
    by,
    step,
    ...verdictShown(decision),
    subjects,
    reserved: decision.by === 'rule' ? decision.reserved : 0,
    warn_percent: warnPercent,
  };
}
