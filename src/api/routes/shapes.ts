/** The modules' values, as they stand on the wire, and back. */

import type { Owners, Snapshot } from '../../documents/index.ts';
import { given } from '../../given.ts';
import { profileOf } from '../../identity/index.ts';
import type { Ledger, OwnerUsage } from '../../ledger/index.ts';
import { stateOfKind, worstKind } from '../../overview/index.ts';
import * as policy from '../../policy/index.ts';
import { allowancesOf } from '../../policy/index.ts';
import {
  asTree,
  bytesUnder,
  type Decision,
  type ExplainedStep,
  type Group as HeldGroup,
  type Rule as HeldRule,
  leafMask,
  type QuotaSettings,
  reachedThreshold,
  type Subject,
  subjects,
} from '../../quota/index.ts';
import type { ScanRun } from '../../scan/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { isoTime } from '../../text/index.ts';
import {
  type Allowance,
  askedSize,
  askedSubject,
  type Explanation,
  type Group,
  graceMostFrom,
  graceMsFrom,
  type NewRule,
  type OwnerReport,
  type OwnerRow,
  type OwnReport,
  type QuotaInfo,
  type Rule,
  type RuleEdit,
  type ScanReport,
  type SpaceRequest,
  snakeCased,
  type UnitRow,
  type User,
  verdictShown,
  withEnds,
} from '../../wire/index.ts';
import type { KnownOwner } from '../owners.ts';
import type { ApiServices } from '../services.ts';

export function ruleShown({ name, ...fields }: HeldRule): Rule {
  return { name, ...policy.ruleContent(fields) };
}

export function groupShown({ name, rules }: HeldGroup): Group {
  return { name, rules: rules.map(ruleShown) };
}

/** The usage of an owner and what limits it; `show` says what is told of a group. */
export function quotaShown<Shown>(
  { documents, ledger, now }: Pick<ApiServices, 'documents' | 'ledger' | 'now'>,
  { id, usage, unreachable }: KnownOwner,
  show: (group: HeldGroup) => Shown,
): Omit<QuotaInfo, 'groups'> & { readonly groups: readonly Shown[] } {
  const groups = ledger.policy.groupsOf(id, ledger.settings.defaultGroups);
  const allowances = policy.allowancesOf(documents.snapshot, id, now()).map(allowanceShown);
  return {
    used: asTree(usage),
    ...(unreachable === null ? {} : { unreachable: asTree(unreachable) }),
    groups: groups.map(show),
    // Clients of Forgejo know no such field, so it is there only where there is something to say.
    ...(allowances.length === 0 ? {} : { allowances }),
  };
}

export function userShown(snapshot: Snapshot, { id, name, type, since }: OwnerRecord): User {
  const { email, fullName, isAdmin } = profileOf(snapshot, id);
  return {
    id,
    login: name,
    username: name,
    type,
    email,
    full_name: fullName,
    is_admin: isAdmin,
    created: isoTime(since),
  };
}

export function editOf({ limit, subjects, grace, grace_most: most, mode }: RuleEdit): policy.RuleEdit {
  return {
    ...given({ limitBytes: limit, subjects, mode }),
    ...(grace === undefined || grace === null ? {} : { graceMs: graceMsFrom(grace) }),
    ...(most === undefined || most === null ? {} : { graceMost: graceMostFrom(most) }),
  };
}

/** A new rule as the API takes it. */
export function newRuleFrom({ name, limit, ...fields }: NewRule): HeldRule {
  return policy.ruleFrom(name, { ...editOf(fields), limitBytes: limit });
}

const mostListed = 20;

export function scanShown(run: ScanRun): ScanReport {
  const { id, kind, state, drift, error, problems } = run;
  return {
    id,
    kind,
    state,
    started_at: isoTime(run.startedAt),
    finished_at: isoTime(run.finishedAt),
    progress: snakeCased(run.progress()),
    unread: shortened(problems.unread, ({ path, error: why }) => ({ path, why })),
    faults: shortened(problems.faults, ({ path, what: why }) => ({ path, why })),
    drift: drift === null ? null : { units: drift.units, bytes: drift.bytes },
    error,
  };
}

/** The first few of what may be thousands; the log and doctor have more. */
function shortened<Entry, Shown>(
  { first, count }: { readonly first: readonly Entry[]; readonly count: number },
  show: (entry: Entry) => Shown,
): { first: Shown[]; count: number } {
  return { first: first.slice(0, mostListed).map(show), count };
}

export function requestShown(owners: Owners, [id, request]: policy.RequestEntry): SpaceRequest {
  const { owner, askedBy, answer } = request;
  const nameOf = (ownerId: number) => owners.byId(ownerId)?.name;
  return snakeCased({
    id,
    ...request,
    owner: nameOf(owner) ?? `#${owner}`,
    askedBy: nameOf(askedBy.id) ?? askedBy.name,
    askedAt: isoTime(request.askedAt),
    until: isoTime(request.until),
    answer: answer && {
      ...answer,
      at: isoTime(answer.at),
      granted: answer.granted && { ...answer.granted, until: isoTime(answer.granted.until) },
    },
  });
}

export function allowanceShown(allowance: policy.AllowanceDocument): Allowance {
  const { until, grantedAt } = allowance;
  return snakeCased({ ...allowance, until: isoTime(until), grantedAt: isoTime(grantedAt) });
}

export function autoGrantShown({
  bytes,
  forMs,
  everyMs,
}: policy.AutoGrant): NonNullable<OwnReport['auto_grant']> {
  return { bytes, seconds: forMs / 1000, every_seconds: everyMs / 1000 };
}

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
