/** Converts values of the modules to their form in the API, and back. */

import type { Snapshot } from '../../documents/index.ts';
import { given } from '../../given.ts';
import { profileOf } from '../../identity/index.ts';
import type { Ledger, OwnerUsage } from '../../ledger/index.ts';
import { judgedKind, type LimitedRepository, type PoolState, worstKind } from '../../overview/index.ts';
import * as policy from '../../policy/index.ts';
import * as quota from '../../quota/index.ts';
import type { ScanRun } from '../../scan/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { isoTime, wholePercent } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import type { ApiServices } from '../services.ts';

export function ruleShown({ name, ...fields }: quota.Rule): wire.Rule {
  return { name, ...policy.ruleContent(fields), per: fields.per ?? 'owner' };
}

export function groupShown({ name, rules }: quota.Group): wire.Group {
  return { name, rules: rules.map(ruleShown) };
}

export function poolShown({ decision, state, mode }: PoolState): wire.GroupUsage['pools'][number] {
  const { used, limit, subjects, rule } = decision;
  return { rule: rule ?? '', subjects, limit, used, percent: percentOf(decision), state, ...given({ mode }) };
}

export function repositoryRowOf({ unit, owner, decision, state }: LimitedRepository): wire.RepositoryRow {
  const { used, limit, group, rule } = decision;
  const percent = percentOf(decision);
  return { unit, owner, used, limit, group: group ?? '', rule: rule ?? '', percent, state };
}

export function userShown(snapshot: Snapshot, { id, name, type, since }: OwnerRecord): wire.User {
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

export function editOf({
  limit,
  subjects,
  grace,
  grace_most: most,
  mode,
  per,
  warn_at: warnAt,
}: wire.RuleEdit): policy.RuleEdit {
  return {
    ...given({ limitBytes: limit, subjects, mode, per }),
    ...(grace === undefined || grace === null ? {} : { graceMs: grace === 'default' ? null : grace * 1000 }),
    ...(most === undefined || most === null ? {} : { graceMost: graceMostIn(most) }),
    ...(warnAt === undefined || warnAt === null ? {} : { warnAt: warnAt === 'default' ? null : warnAt }),
  };
}

/** Returns null for the configured value. */
function graceMostIn(text: string): quota.GraceMost | null {
  const parsed = text === 'default' ? null : quota.parseGraceMost(text);
  return parsed?.ok === true ? parsed.value : null;
}

export function newRuleFrom({ name, limit, ...fields }: wire.NewRule): quota.Rule {
  return policy.ruleFrom(name, { ...editOf(fields), limitBytes: limit });
}

const mostListed = 20;

export function scanShown(run: ScanRun): wire.ScanReport {
  const { id, kind, state, drift, error, problems } = run;
  return {
    id,
    kind,
    state,
    started_at: isoTime(run.startedAt),
    finished_at: isoTime(run.finishedAt),
    progress: wire.snakeCased(run.progress()),
    unread: shortened(problems.unread, ({ path, error: why }) => ({ path, why })),
    faults: shortened(problems.faults, ({ path, what: why }) => ({ path, why })),
    unmeasured: run.unmeasured,
    drift: drift === null ? null : { units: drift.units, bytes: drift.bytes },
    error,
  };
}

/** Returns the first few of possibly thousands of entries; the log and `softquota doctor` have more. */
function shortened<Entry, Shown>(
  { first, count }: { readonly first: readonly Entry[]; readonly count: number },
  show: (entry: Entry) => Shown,
): { first: Shown[]; count: number } {
  return { first: first.slice(0, mostListed).map(show), count };
}

export function allowanceShown(allowance: policy.AllowanceDocument): wire.Allowance {
  const { until, grantedAt } = allowance;
  return wire.snakeCased({ ...allowance, until: isoTime(until), grantedAt: isoTime(grantedAt) });
}

export function rowOf(ledger: Ledger, owner: OwnerUsage): wire.OwnerRow {
  // Reserved bytes do not change a state.
  const decide = ledger.stateDeciderFor(owner);
  const { subject, state, decision } = worstKind(ledger.settings, decide, owner);
  return {
    name: owner.name,
    type: owner.type,
    tree: quota.asTree(owner.usage),
    total: quota.bytesUnder(owner.usage, quota.leafMask('size:all')),
    state,
    subject,
    ...wire.verdictShown(decision),
    percent: percentOf(decision),
    measured_at: isoTime(owner.measuredAt),
    partial: owner.partial,
    stale: owner.stale,
  };
}

/** Returns the report about an owner, with the `most` largest units of each source. */
export async function reportOf(services: ApiServices, name: string, most: number): Promise<wire.OwnerReport> {
  const { documents, ledger } = services;
  const owner = ledger.ownerUsage(name);
  const decisions = quota.subjects.map(subject => {
    const stored = quota.bytesUnder(owner.usage, quota.leafMask(subject));
    const { decision, state } = judgedKind(ledger.settings, ledger.deciderFor(owner)(subject), stored);
    return [subject, { ...wire.verdictShown(decision), state }];
  });
  const units = (await ledger.shares.unitsOf(owner.name, { most })).map(
    ({ host, name, kind, source, leaf: subject, bytes, files, partial, measuredAt }): wire.UnitRow => {
      const title = titleOf(services, { kind, name });
      const row = { host, name, kind, source, subject, bytes, files, partial };
      return { ...row, ...given({ title }), measured_at: isoTime(measuredAt) };
    },
  );
  return {
    ...rowOf(ledger, owner),
    known: owner.id !== null,
    units,
    decisions: Object.fromEntries(decisions),
    allowances:
      owner.id === null
        ? []
        : policy.allowancesOf(documents.snapshot, owner.id, Date.now()).map(allowanceShown),
  };
}

/** Returns the name by which the forge knows a unit; undefined if its path says it. */
export function titleOf(
  { placed }: Pick<ApiServices, 'placed'>,
  { kind, name }: Pick<wire.UnitRow, 'kind' | 'name'>,
): string | undefined {
  return (kind === 'walked' && placed(name)?.title) || undefined;
}

function percentOf({ used, limit }: Pick<wire.OwnerRow, 'used' | 'limit'>): number | null {
  return limit === null || limit <= 0 || used === null ? null : wholePercent(used, limit);
}

export function explanationOf(
  { ledger }: ApiServices,
  name: string,
  { subject, size }: { readonly subject: quota.Subject; readonly size: number },
): wire.Explanation {
  const { addingBytes, reporting, warning, ...reasons } = ledger.explain(name, subject, size);
  const { enabled, refuseWhen, uncovered, precise, mode, totalBytes } = ledger.settings;
  const shown = ({ steps, bounds, decision }: Pick<quota.Explanation, 'bounds' | 'decision' | 'steps'>) => ({
    steps: steps.map(({ step, groups }) => ({
      step,
      groups: groups.map(group => ({
        ...group,
        rules: group.rules.map(({ allowance, grace, ...rule }) => {
          return { ...rule, ...wire.withEnds(allowance, grace) };
        }),
      })),
    })),
    ...(bounds === undefined ? {} : { bounds: bounds.map(boundExplained) }),
    decision: {
      by: decision.by,
      step: decision.step,
      ...wire.verdictShown(decision),
      subjects: decision.subjects,
      reserved: decision.by === 'rule' ? decision.reserved : 0,
      warn_percent: quota.reachedThreshold(ledger.settings, decision),
    },
  });
  return {
    subject,
    settings: wire.snakeCased({ enabled, refuseWhen, uncovered, precise, mode, totalBytes }),
    adding_bytes: addingBytes,
    ...shown(reasons),
    ...(reporting === undefined ? {} : { reporting: shown(reporting) }),
    ...(warning === undefined ? {} : { warning: shown(warning) }),
  };
}

function boundExplained({ allowance, grace, rule, ...bound }: quota.ExplainedBound) {
  const { per, share, unit, file, ...common } = bound;
  return {
    ...common,
    rule: rule ?? '',
    ...wire.withEnds(allowance, grace),
    ...wire.boundShown({ per, ...given({ share, unit, file }) }),
    per,
  };
}
