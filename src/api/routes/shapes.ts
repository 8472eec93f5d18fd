/** The modules' values, as they stand on the wire, and back. */

import type { Owners, Snapshot } from '../../documents/index.ts';
import { given } from '../../given.ts';
import { profileOf } from '../../identity/index.ts';
import * as policy from '../../policy/index.ts';
import { asTree, type Group as HeldGroup, type Rule as HeldRule } from '../../quota/index.ts';
import type { ScanRun } from '../../scan/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { isoTime } from '../../text/index.ts';
import {
  type Allowance,
  type Group,
  graceMostFrom,
  graceMsFrom,
  type NewRule,
  type OwnReport,
  type QuotaInfo,
  type Rule,
  type RuleEdit,
  type ScanReport,
  type SpaceRequest,
  snakeCased,
  type User,
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
