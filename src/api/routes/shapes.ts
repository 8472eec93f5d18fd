/** The modules' values, as they stand on the wire, and back. */

import type { Snapshot } from '../../documents/index.ts';
import { profileOf } from '../../identity/index.ts';
import type { OwnerUsage } from '../../ledger/index.ts';
import type * as policy from '../../policy/index.ts';
import {
  type ActiveAllowance,
  asTree,
  type Decision,
  type Garbage,
  type Group as HeldGroup,
  type Rule as HeldRule,
  type Leaf,
  type Explanation as Reasoning,
} from '../../quota/index.ts';
import type { ScanRun } from '../../scan/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { formatBytes } from '../../text/index.ts';
import type {
  AddedAllowance,
  Allowance,
  Explanation,
  Group,
  OwnQuotaInfo,
  QuotaInfo,
  Rule,
  RuleEdit,
  ScanReport,
  User,
  Verdict,
} from '../../wire/index.ts';

export function ruleShown({ name, limitBytes, subjects }: HeldRule): Rule {
  return { name, limit: limitBytes, subjects };
}

export function groupShown({ name, rules }: HeldGroup): Group {
  return { name, rules: rules.map(ruleShown) };
}

export function quotaShown(
  owner: OwnerUsage,
  groups: readonly HeldGroup[],
  allowances: readonly Allowance[],
): QuotaInfo {
  return { ...usedShown(owner), groups: groups.map(groupShown), ...ifAny(allowances) };
}

/** Without names, which are for administrators. */
export function ownQuotaShown(
  owner: OwnerUsage,
  groups: readonly HeldGroup[],
  allowances: readonly Allowance[],
): OwnQuotaInfo {
  return {
    ...usedShown(owner),
    groups: groups.map(({ rules }) => ({
      rules: rules.map(({ limitBytes, subjects }) => ({ limit: limitBytes, subjects })),
    })),
    ...ifAny(allowances),
  };
}

function usedShown({ usage, unreachable }: OwnerUsage): Pick<QuotaInfo, 'used' | 'unreachable'> {
  return { used: asTree(usage), ...(unreachable === null ? {} : { unreachable: asTree(unreachable) }) };
}

/** Clients of Forgejo know no such field, so it is there only where there is something to say. */
function ifAny(allowances: readonly Allowance[]): { readonly allowances?: readonly Allowance[] } {
  return allowances.length === 0 ? {} : { allowances };
}

/** A decision in short. */
export function verdictShown({ allowed, used, limit, group, rule, allowance, garbage }: Decision): Verdict {
  return { allowed, used, limit, group, rule, ...allowanceAdded(allowance), ...garbageAdded(garbage) };
}

/** The part of a limit that allowances add; none where they add nothing. */
function allowanceAdded(allowance: ActiveAllowance | undefined): {
  readonly allowance?: AddedAllowance;
} {
  return allowance === undefined
    ? {}
    : { allowance: { ...allowance, until: new Date(allowance.until).toISOString() } };
}

function garbageAdded(garbage: Garbage | undefined): { readonly garbage?: Garbage } {
  return garbage === undefined ? {} : { garbage };
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
    created: new Date(since).toISOString(),
  };
}

export function editOf({ limit, subjects }: RuleEdit): policy.RuleEdit {
  return {
    ...(limit === undefined || limit === null ? {} : { limitBytes: limit }),
    ...(subjects === undefined || subjects === null ? {} : { subjects }),
  };
}

/** `rulers`: the leaves that are not walked, with how they are measured. */
export function explanationShown(
  { subject, settings, addingBytes, steps, decision }: Reasoning,
  rulers: ReadonlyMap<Leaf, string>,
): Explanation {
  const { enabled, refuseWhen, uncovered, precise, burstBytes, mode, totalBytes } = settings;
  const { by, step, allowed, used, limit, group, rule, subjects, warnPercent, allowance, garbage } = decision;
  const { reserved, underWay } = decision.by === 'rule' ? decision : nothingReserved;
  return {
    subject,
    settings: {
      enabled,
      refuse_when: refuseWhen,
      uncovered,
      precise,
      burst_bytes: burstBytes,
      mode,
      total_bytes: totalBytes,
    },
    adding_bytes: addingBytes,
    steps: steps.map(({ step, groups }) => ({
      step,
      groups: groups.map(group => ({
        ...group,
        rules: group.rules.map(({ allowance: added, ...rule }) => ({ ...rule, ...allowanceAdded(added) })),
      })),
    })),
    rulers: [...rulers].map(([leaf, ruler]) => ({ subject: leaf, ruler })),
    decision: {
      by,
      step,
      allowed,
      used,
      limit,
      ...allowanceAdded(allowance),
      ...garbageAdded(garbage),
      group,
      rule,
      subjects,
      reserved,
      under_way: underWay,
      warn_percent: warnPercent,
    },
  };
}

const nothingReserved = { reserved: 0, underWay: 0 };

const mostListed = 20;

export function scanShown(run: ScanRun): ScanReport {
  const { id, kind, state, drift, error, problems } = run;
  return {
    id,
    kind,
    state,
    started_at: isoOf(run.startedAt),
    finished_at: isoOf(run.finishedAt),
    progress: progressShown(run.progress()),
    unread: shortened(problems.unread, ({ path, error: why }) => ({ path, why })),
    faults: shortened(faultsOf(problems), ({ path, what: why }) => ({ path, why })),
    held: shortened(problems.held, ({ path, bytes, why }) => ({
      path,
      why: `${formatBytes(bytes)} may exist twice: ${why}`,
    })),
    drift: drift === null ? null : { units: drift.units, bytes: drift.bytes },
    error,
  };
}

function faultsOf({ faults, rulers }: ScanRun['problems']): ScanRun['problems']['faults'] {
  return { first: [...faults.first, ...rulers.first], count: faults.count + rulers.count };
}

function progressShown(progress: ReturnType<ScanRun['progress']>): ScanReport['progress'] {
  const { units, unitsFound, discovering, directories, files, bytes } = progress;
  return {
    units,
    units_found: unitsFound,
    discovering,
    directories,
    files,
    bytes,
    entries_per_second: progress.entriesPerSecond,
    bytes_per_second: progress.bytesPerSecond,
    estimate_seconds: progress.estimateSeconds,
  };
}

/** The first few of what may be thousands; the log and doctor have more. */
function shortened<Entry, Shown>(
  { first, count }: { readonly first: readonly Entry[]; readonly count: number },
  show: (entry: Entry) => Shown,
): { first: Shown[]; count: number } {
  return { first: first.slice(0, mostListed).map(show), count };
}

function isoOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
