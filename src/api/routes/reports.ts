/** Reports about one owner and the reasoning of decisions, for administrators and the owner. */

import type { Ledger, OwnerUsage } from '../../ledger/index.ts';
import { stateOfKind, worstKind } from '../../overview/index.ts';
import { allowancesOf } from '../../policy/index.ts';
import {
  asTree,
  bytesUnder,
  type Decision,
  type ExplainedStep,
  leafMask,
  type QuotaSettings,
  reachedThreshold,
  type Subject,
  subjects,
} from '../../quota/index.ts';
import { isoTime } from '../../text/index.ts';
import {
  askedSize,
  askedSubject,
  type Explanation,
  type OwnerReport,
  type OwnerRow,
  snakeCased,
  type UnitRow,
  verdictShown,
  withEnds,
} from '../../wire/index.ts';
import type { ApiServices } from '../services.ts';
import { allowanceShown } from './shapes.ts';

export function rowOf(ledger: Ledger, owner: OwnerUsage): OwnerRow {
  // Reserved bytes change nobody's state.
  const decide = ledger.deciderFor({ ...owner, reserved: null });
  const { subject, state, decision } = worstKind(ledger.settings, decide, owner);
  return {
    name: owner.name,
    type: owner.type,
    tree: asTree(owner.usage),
    total: bytesUnder(owner.usage, leafMask('size:all')),
    state,
    subject,
    ...verdictShown(decision),
    percent: percentOf(decision),
    measured_at: isoTime(owner.measuredAt),
    partial: owner.partial,
    stale: owner.stale,
  };
}

type ReportServices = Pick<ApiServices, 'documents' | 'ledger' | 'now'>;

/** Tells the `most` largest units of each source. */
export async function reportOf(
  { documents, ledger, now }: ReportServices,
  name: string,
  most: number,
): Promise<OwnerReport> {
  const owner = ledger.ownerUsage(name);
  const decisions = subjects.map(subject => {
    const decision = ledger.deciderFor(owner)(subject);
    const state = stateOfKind(ledger.settings, decision, bytesUnder(owner.usage, leafMask(subject)));
    return [subject, { ...verdictShown(decision), state }];
  });
  const units = (await ledger.shares.unitsOf(owner.name, { most })).map(
    (unit): UnitRow => ({
      host: unit.host,
      name: unit.name,
      kind: unit.kind,
      source: unit.source,
      subject: unit.leaf,
      bytes: unit.bytes,
      files: unit.files,
      partial: unit.partial,
      measured_at: isoTime(unit.measuredAt),
    }),
  );
  return {
    ...rowOf(ledger, owner),
    known: owner.id !== null,
    units,
    decisions: Object.fromEntries(decisions),
    allowances:
      owner.id === null ? [] : allowancesOf(documents.snapshot, owner.id, now()).map(allowanceShown),
  };
}

function percentOf({ used, limit }: Pick<OwnerRow, 'used' | 'limit'>): number | null {
  return limit === null || limit <= 0 || used === null ? null : Math.floor((used / limit) * 100);
}

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
    settings: snakeCased({ enabled, refuseWhen, uncovered, precise, mode, totalBytes }),
    adding_bytes: addingBytes,
    steps: steps.map(stepShown),
    decision: decisionShown(ledger.settings, decision),
    ...(reporting === undefined
      ? {}
      : {
          reporting: {
            steps: reporting.steps.map(stepShown),
            decision: decisionShown(ledger.settings, reporting.decision),
          },
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
        ...withEnds({ allowance, grace }),
      })),
    })),
  };
}

function decisionShown(settings: Pick<QuotaSettings, 'warnAt'>, decision: Decision): Explanation['decision'] {
  const { by, step, subjects } = decision;
  return {
    by,
    step,
    ...verdictShown(decision),
    subjects,
    reserved: decision.by === 'rule' ? decision.reserved : 0,
    warn_percent: reachedThreshold(settings, decision),
  };
}
