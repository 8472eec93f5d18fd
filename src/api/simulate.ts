/** Computes the effect of another policy on all owners, without changing anything. */

import { isDeepStrictEqual } from 'node:util';
import { ChangeSet, type Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { type Ledger, type LedgerSettings, type OwnerUsage, Pools } from '../ledger/index.ts';
import { deleteGroup, lintIn, Policy, replacePolicy, ruleKind, type WholeGroup } from '../policy/index.ts';
import {
  type CompiledGroup,
  type Decision,
  decide,
  type Graces,
  hasBounds,
  type Leaf,
  leaves,
  type PooledBytes,
  type Standing,
  type StoredRepository,
  totalOf,
} from '../quota/index.ts';
import { byText } from '../sorting.ts';
import { printable } from '../text.ts';
import { type Work, workInSlices } from '../turns.ts';
import { type ChangedOwner, type DraftPolicy, type Simulation, verdictShown } from '../wire/index.ts';
import { pageOf } from './pages.ts';
import { editOf, newRuleFrom } from './routes/shapes.ts';
import { mustNameFewRules } from './whole-policy.ts';

/**
 * Lists at most `limit` owners per effect. Rejects with `invalid`, `not_found`, and `conflict` if the policy
 * changes meanwhile.
 */
export async function simulate(ledger: Ledger, wanted: DraftPolicy, limit: number): Promise<Simulation> {
  const { policy: inForce, settings } = ledger;
  const changes = await workInSlices(draftOf(ledger, wanted));
  const drafted = new Policy(changes);
  const then = settingsOf(settings, wanted);
  // Deleting a group is a small question; the warnings about all other rules may be megabytes.
  const lint = wanted.without_group === undefined ? await workInSlices(lintIn(drafted, then)) : [];
  const found: Record<Effect, ChangedOwner[]> = { refused: [], allowed: [], graced: [] };
  const isAlike = comparison(settings, then);
  const before = rulingBy(ledger, inForce, settings);
  const after = rulingBy(ledger, drafted, then);
  let owners = 0;
  const findAll = function* (): Work<void> {
    for (const owner of concerned(ledger, wanted, then)) {
      owners += 1;
      const graces = ledger.graces.now(owner.id);
      const some = yield* changesFor({ ledger, owner, graces }, before, after, isAlike);
      for (const [effect, list] of Object.entries(found)) {
        const changes = some.filter(change => effectOf(change) === effect);
        const { name: user, type, usage } = owner;
        if (changes.length > 0) list.push({ user, type, total: totalOf(usage), changes });
      }
      yield;
      if (ledger.policy !== inForce || ledger.settings !== settings) {
        throw new SoftquotaError('conflict', 'the policy changed during the simulation; ask again');
      }
    }
  };
  await workInSlices(findAll());
  const largest = (a: ChangedOwner, b: ChangedOwner) => b.total - a.total || byText(a.user, b.user);
  const told = async (list: readonly ChangedOwner[]) => {
    const { entries: first, total: count } = await pageOf(list, { page: 1, limit }, largest);
    return { count, first };
  };
  const graced = found.graced.length === 0 ? {} : { graced: await told(found.graced) };
  const notAsked = incomingScopesIn(changes);
  return {
    owners,
    refused: await told(found.refused),
    allowed: await told(found.allowed),
    ...graced,
    ...(notAsked.length === 0 ? {} : { not_asked: notAsked }),
    lint,
  };
}

/** Returns the scopes of rules that limit each push or each file. A simulation cannot decide these. */
function incomingScopesIn(snapshot: Snapshot): ('push' | 'file')[] {
  const limited = new Set([...snapshot.all(ruleKind)].map(([, { per }]) => per));
  return (['push', 'file'] as const).filter(per => limited.has(per));
}

type Effect = 'refused' | 'allowed' | 'graced';

function effectOf({ before, after }: ChangedOwner['changes'][number]): Effect {
  if (!after.allowed) return 'refused';
  return before.allowed ? 'graced' : 'allowed';
}

/** Builds the draft upon the policy in force. Throws `invalid`. */
function* draftOf(
  { policy, documents: { owners, snapshot } }: Ledger,
  { rules, groups, without_group: without }: DraftPolicy,
): Work<Snapshot> {
  mustNameFewRules(groups ?? []);
  const faults = new FaultList();
  const whole: WholeGroup[] = [];
  for (const [at, { name, rules: named, users }] of (groups ?? []).entries()) {
    const ownerIds: number[] = [];
    for (const [index, user] of (users ?? []).entries()) {
      const owner = owners.named(user);
      if (owner !== undefined) ownerIds.push(owner.id);
      else
        faults.add(() => `groups.${at}.users.${index}: there is no user or organization ${printable(user)}`);
      yield;
    }
    const group = { name, rules: (named ?? []).map(each => ({ name: each.name, ...editOf(each) })) };
    whole.push(users === undefined ? group : { ...group, ownerIds });
    yield;
  }
  faults.throwIfAny();
  const changes = new ChangeSet(snapshot);
  yield* replacePolicy(changes, {
    ...(rules === undefined ? {} : { rules: rules.map(newRuleFrom) }),
    ...(groups === undefined ? {} : { groups: whole }),
  });
  // A draft with groups may have other members.
  const members = groups === undefined && without !== undefined ? policy.membersOf(without) : undefined;
  if (without !== undefined) deleteGroup(changes, without, members);
  return changes;
}

/** Yields the owners whom a draft may affect. */
function* concerned(
  ledger: Ledger,
  { rules, groups, without_group: without }: DraftPolicy,
  then: LedgerSettings,
): Iterable<OwnerUsage> {
  const isAlone = rules === undefined && groups === undefined && isDeepStrictEqual(ledger.settings, then);
  if (without === undefined || !isAlone || then.defaultGroups.includes(without))
    return yield* ledger.owners();
  for (const id of ledger.policy.membersOf(without)) {
    const owner = ledger.ownerById(id);
    if (owner !== null && owner !== undefined) yield owner;
  }
}

function settingsOf(settings: LedgerSettings, { settings: wanted }: DraftPolicy): LedgerSettings {
  return {
    ...settings,
    enabled: true,
    totalBytes: wanted.total ?? settings.totalBytes,
    defaultGroups: wanted.default_groups ?? settings.defaultGroups,
    refuseWhen: wanted.refuse_when ?? settings.refuseWhen,
    uncovered: wanted.uncovered ?? settings.uncovered,
  };
}

interface Ruling {
  readonly policy: Policy;
  readonly settings: LedgerSettings;
  readonly pools: (group: string) => PooledBytes;
}

function rulingBy(ledger: Ledger, policy: Policy, settings: LedgerSettings): Ruling {
  const pools = new Pools({
    policy,
    settings,
    graces: { ofPool: group => ledger.graces.poolNow(group) },
    ownerById: id => ledger.ownerById(id),
    ownerUsage: name => ledger.ownerUsage(name),
  });
  return { policy, settings, pools: group => pools.of(group, null) };
}

/** Returns true if decisions before and after are surely the same for owners with these groups. */
type Comparison = (was: Standing, is: Standing) => boolean;

/** Compares each pair of groups once: most edits change few groups, and so few owners. */
function comparison(settings: LedgerSettings, then: LedgerSettings): Comparison {
  if (!isDeepStrictEqual(settings, then)) return () => false;
  const known = new Map<CompiledGroup, { readonly is: CompiledGroup; readonly isAlike: boolean }>();
  const isGroupAlike = (was: CompiledGroup, is: CompiledGroup | undefined): boolean => {
    if (is === undefined) return false;
    const found = known.get(was);
    if (found?.is === is) return found.isAlike;
    const isAlike = isDeepStrictEqual(was, is);
    known.set(was, { is, isAlike });
    return isAlike;
  };
  const areAlike = (was: readonly CompiledGroup[], is: readonly CompiledGroup[]) =>
    was.length === is.length && was.every((group, at) => isGroupAlike(group, is[at]));
  return (was, is) =>
    // With bounds, the members of a pool may differ. With rules that only report or warn, groups are compiled
    // for each owner.
    [was, is].every(
      ({ scopes, reporting, warning }) =>
        scopes === undefined && reporting === undefined && warning === undefined,
    ) &&
    areAlike(was.assigned, is.assigned) &&
    areAlike(was.defaults, is.defaults);
}

interface AskedOwner {
  readonly ledger: Ledger;
  readonly owner: OwnerUsage;
  readonly graces: Graces;
}

/** Limit of the listed repositories of one owner: the largest ones. */
const mostRepositories = 20;

function* changesFor(
  { ledger, owner, graces }: AskedOwner,
  now: Ruling,
  then: Ruling,
  isAlike: Comparison,
): Work<ChangedOwner['changes']> {
  const groupsBefore = now.policy.standing(owner.id, now.settings.defaultGroups);
  const groupsAfter = then.policy.standing(owner.id, then.settings.defaultGroups);
  if (isAlike(groupsBefore, groupsAfter)) return [];
  // A draft does not change allowances.
  const { allowance, usage, unreachable } = owner;
  const before = { ...groupsBefore, allowance, graces };
  const after = { ...groupsAfter, allowance, graces };
  const decided = (subject: Leaf, repository: StoredRepository | null) => {
    const asked = { usage, subject, unreachable, repository };
    return {
      was: decide({ ...asked, settings: now.settings, standing: before, pools: now.pools }),
      is: decide({ ...asked, settings: then.settings, standing: after, pools: then.pools }),
    };
  };
  const ofOwner = leaves.map(subject => ({ subject, ...decided(subject, null) }));
  const changes: ChangedOwner['changes'] = ofOwner.flatMap(({ subject, was, is }) => {
    const graced = is.allowed && gracedBy(was) === undefined ? gracedBy(is) : undefined;
    return was.allowed === is.allowed && graced === undefined
      ? []
      : [{ subject, before: verdictShown(was), after: verdictShown(graced ?? is) }];
  });
  if (![before, after].some(standing => hasBounds(standing, ['repository']))) return changes;
  const mayStart = new Set(
    ofOwner.flatMap(({ subject, was, is }) => (was.allowed && is.allowed ? subject : [])),
  );
  let largest: { readonly bytes: number; readonly changes: ChangedOwner['changes'] }[] = [];
  for (const found of ledger.repositoriesOf(owner)) {
    yield;
    if (found === null) continue;
    const { repository, leaf } = found;
    const changesOfIt = [...new Set([leaf, 'size:git:lfs' as const])].flatMap(subject => {
      if (!mayStart.has(subject)) return [];
      const { was, is } = decided(subject, repository);
      const verdicts = { before: verdictShown(was), after: verdictShown(is) };
      return was.allowed === is.allowed ? [] : [{ subject, unit: repository.name, ...verdicts }];
    });
    if (changesOfIt.length > 0) largest.push({ bytes: totalOf(repository.usage), changes: changesOfIt });
    if (largest.length > 2 * mostRepositories) largest = largestOf(largest);
  }
  return [...changes, ...largestOf(largest).flatMap(each => each.changes)];
}

/** Returns the decision about a limit that is exceeded within its grace: the owner's or a pool's. */
function gracedBy(decision: Decision): Decision | undefined {
  return [decision, ...(decision.near ?? [])].find(({ grace }) => grace !== undefined);
}

function largestOf<Sized extends { readonly bytes: number }>(list: readonly Sized[]): Sized[] {
  return list.toSorted((a, b) => b.bytes - a.bytes).slice(0, mostRepositories);
}
