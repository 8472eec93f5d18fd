/**
 * Finds possible mistakes in a policy: valid parts that probably are not meant.
 *
 * Each finding says what follows from it. Rules and groups that are found never to decide can all be removed
 * at once, and no decision changes. Not every such rule is found: for example not one that only several
 * others together make superfluous.
 */

import { printable } from '../text.ts';
import type { Work } from '../turns.ts';
import {
  type CompiledGroup,
  type CompiledRule,
  compileGroup,
  type Group,
  groupsInMode,
  isNoMoreGrace,
  type QuotaSettings,
} from './policy.ts';
import { leafMask, type Subject, subjectsWithin } from './subjects.ts';
import { subjectWords } from './words.ts';

export interface LintedPolicy {
  readonly groups: readonly Group[];
  /** The names in DEFAULT_GROUPS. */
  readonly defaultGroups: readonly string[];
  /** The ids of the owners that each group is assigned to; left out if unknown, as for a draft. */
  readonly members?: ReadonlyMap<string, readonly number[]>;
  readonly settings: QuotaSettings;
  /** Absent: unknown. */
  readonly asked?: AskedHere | undefined;
}

/** The data whose growth something asks the gate about in this configuration. */
export interface AskedHere {
  /** The leaves that hooks or proxies ask about, as in `leafMask`. */
  readonly leaves: number;
  /** True if the repository of an LFS object is unknown, and only its owner is known. */
  readonly isLfsByOwner: boolean;
}

type FindingCode =
  /** DEFAULT_GROUPS names a group that does not exist. */
  | 'missing_default_group'
  /** A group without rules, which never decides. */
  | 'empty_group'
  /** A group that is neither assigned to an owner nor a default group. */
  | 'unused_group'
  /** A default group, beside another one that always allows at least as much. */
  | 'shadowed_default_group'
  /** A rule that names no subject but `none`. */
  | 'matches_nothing'
  /** A rule that never decides, since others of its group never leave more room for what it covers. */
  | 'unreachable_rule'
  /** A subject that no rule covers, so that it is refused or not limited. */
  | 'uncovered_subject'
  /** A bound that refuses nobody, or less than it seems to. */
  | 'idle_bound'
  /** An owner in groups who has lost all units, and may have a new name; see `renamedOwners`. */
  | 'perhaps_renamed';

export interface LintFinding {
  readonly code: FindingCode;
  readonly group?: string;
  readonly rule?: string;
  /** The largest possible subject: `size:assets:all` rather than each leaf below it. */
  readonly subject?: Subject;
  /** A line of text for people. */
  readonly message: string;
}

/** Finds possible mistakes in a policy, in the order of `FindingCode`, then in that of the policy. */
export function* lint(policy: LintedPolicy): Work<readonly LintFinding[]> {
  const { members, defaultGroups, settings } = policy;
  const groups: CompiledGroup[] = [];
  for (const group of policy.groups) {
    groups.push(compileGroup(group));
    yield;
  }
  const defaults = groups.filter(group => defaultGroups.includes(group.name));
  const isAssigned = ({ name }: CompiledGroup) =>
    members === undefined || (members.get(name) ?? []).length > 0;
  // Rules that only report or warn, and bounds, make no other rule superfluous.
  const inForce = groupsInMode(groups, null);
  const enforced = groupsWith(inForce, ({ per }) => per === undefined);
  const enforcedDefaults = enforced.filter(group => defaultGroups.includes(group.name));
  const assigned = enforced.filter(isAssigned);
  return [
    ...missingDefaults(defaultGroups, groups),
    ...groups.flatMap(emptyGroup),
    ...groups.filter(group => !isAssigned(group) && !defaults.includes(group)).map(unusedGroup),
    ...(yield* findIn(enforcedDefaults, group => shadowedDefault(group, enforcedDefaults, settings))),
    ...groups.flatMap(group => group.rules.flatMap(rule => matchesNothing(rule, group))),
    ...(yield* findIn(enforced, group => unreachable(group, settings))),
    ...(yield* findIn(assigned, group => uncoveredOfGroup(group, enforcedDefaults, settings))),
    ...uncovered(enforcedDefaults, settings, 'Owners without a group'),
    ...(yield* idleBounds(groups, policy, inForce)),
  ];
}

/** Finds something in one group after the other, and pauses in between. */
function* findIn(
  groups: readonly CompiledGroup[],
  find: (group: CompiledGroup) => readonly LintFinding[],
): Work<readonly LintFinding[]> {
  const found: (readonly LintFinding[])[] = [];
  for (const group of groups) {
    found.push(find(group));
    yield;
  }
  return found.flat();
}

/** Returns the groups with only some of their rules, also groups without any rule left. */
function groupsWith(
  groups: readonly CompiledGroup[],
  isMeant: (rule: CompiledRule) => boolean,
): readonly CompiledGroup[] {
  return groups.map(group => ({ ...group, rules: group.rules.filter(isMeant) }));
}

function missingDefaults(names: readonly string[], groups: readonly CompiledGroup[]): readonly LintFinding[] {
  return [...new Set(names)]
    .filter(name => !groups.some(group => group.name === name))
    .map(name => ({
      code: 'missing_default_group',
      group: name,
      message: `DEFAULT_GROUPS names ${quoted(name)}, which does not exist, so it is ignored.`,
    }));
}

function emptyGroup(group: CompiledGroup): readonly LintFinding[] {
  if (group.rules.length > 0) return [];
  const message = `Group ${quoted(group.name)} has no rules, so it neither allows nor refuses anything.`;
  return [{ code: 'empty_group', group: group.name, message }];
}

function unusedGroup(group: CompiledGroup): LintFinding {
  const message = `Group ${quoted(group.name)} has no members and is not in DEFAULT_GROUPS, so it has no effect.`;
  return { code: 'unused_group', group: group.name, message };
}

function matchesNothing(rule: CompiledRule, group: CompiledGroup): readonly LintFinding[] {
  if (rule.covers !== 0) return [];
  const message = `${ruleOf(rule, group)} has no subject, so it never applies.`;
  return [{ code: 'matches_nothing', group: group.name, rule: nameOf(rule), message }];
}

/**
 * Finds rules that never decide. Among rules that cover the same subjects only the strictest can decide, so
 * each rule is compared only with those: even thousands of rules have few sets of subjects. A finding names
 * as many other rules as it takes to cover all subjects of the rule.
 */
function unreachable(group: CompiledGroup, settings: QuotaSettings): readonly LintFinding[] {
  const strictest = new Map<number, CompiledRule>();
  for (const rule of group.rules) {
    const known = strictest.get(rule.covers);
    if (known === undefined || speaksBefore(rule, known, settings)) strictest.set(rule.covers, rule);
  }
  return group.rules.flatMap(rule => unreachableRule(rule, strictest.values(), group, settings));
}

function unreachableRule(
  rule: CompiledRule,
  strictest: Iterable<CompiledRule>,
  group: CompiledGroup,
  settings: QuotaSettings,
): readonly LintFinding[] {
  let left = rule.covers;
  const others: CompiledRule[] = [];
  for (const other of strictest) {
    if (other === rule || (other.covers & left) === 0 || !speaksBefore(other, rule, settings)) continue;
    left &= ~other.covers;
    others.push(other);
  }
  if (rule.covers === 0 || left !== 0) return [];
  const named = others.map(other => quoted(nameOf(other))).join(', ');
  const message = `${ruleOf(rule, group)} never decides: the limit of ${named} is always at least as strict for the same data.`;
  return [{ code: 'unreachable_rule', group: group.name, rule: nameOf(rule), message }];
}

/** Tells whether `a` never leaves more headroom than `b`, whatever is stored. */
function neverMoreRoom(a: CompiledRule, b: CompiledRule, settings: QuotaSettings): boolean {
  if (a.limitBytes === 0 || b.limitBytes === -1) return true;
  if (b.limitBytes === 0 || a.limitBytes === -1 || !isNoMoreGrace(settings, a, b)) return false;
  return a.limitBytes <= b.limitBytes && (a.counts & b.counts) === b.counts;
}

/**
 * Tells whether `a` makes `b` superfluous for subjects that both cover. Of two equally strict rules, the one
 * that covers more makes the other superfluous, or else the first by name.
 */
function speaksBefore(a: CompiledRule, b: CompiledRule, settings: QuotaSettings): boolean {
  if (!neverMoreRoom(a, b, settings)) return false;
  if (!neverMoreRoom(b, a, settings)) return true;
  const difference = size(a.covers) - size(b.covers);
  return difference === 0 ? nameOf(a) < nameOf(b) : difference > 0;
}

function shadowedDefault(
  group: CompiledGroup,
  defaults: readonly CompiledGroup[],
  settings: QuotaSettings,
): readonly LintFinding[] {
  if (covered(group) === 0) return [];
  const shadow = defaults.find(other => isInsteadOf(other, group, settings));
  if (shadow === undefined) return [];
  const message = `Default group ${quoted(group.name)} has no effect as a default group: ${quoted(shadow.name)}, also a default group, always allows at least as much of the same data.`;
  return [{ code: 'shadowed_default_group', group: group.name, message }];
}

/** Tells whether `a` makes `b` superfluous. Of two equally generous groups, the first by name does. */
function isInsteadOf(a: CompiledGroup, b: CompiledGroup, settings: QuotaSettings): boolean {
  if (a.name === b.name || !alwaysAllowsAsMuch(a, b, settings)) return false;
  return !alwaysAllowsAsMuch(b, a, settings) || a.name < b.name;
}

/** Tells whether `a` covers all that `b` covers, and never leaves less headroom there, whatever is stored. */
function alwaysAllowsAsMuch(a: CompiledGroup, b: CompiledGroup, settings: QuotaSettings): boolean {
  const subjects = covered(b);
  if ((covered(a) & subjects) !== subjects) return false;
  return a.rules.every(rule => {
    const tighter = b.rules.filter(other => neverMoreRoom(other, rule, settings));
    return tighter.reduce((mask, other) => mask & ~other.covers, rule.covers & subjects) === 0;
  });
}

function uncoveredOfGroup(
  group: CompiledGroup,
  defaults: readonly CompiledGroup[],
  settings: QuotaSettings,
): readonly LintFinding[] {
  const asked = settings.uncovered === 'deny' ? [group] : [group, ...defaults];
  return uncovered(asked, settings, `Owners whose only group is ${quoted(group.name)}`).map(finding => ({
    ...finding,
    group: group.name,
  }));
}

/** Finds subjects that no group covers, unless the built-in limit applies to them. */
function uncovered(
  groups: readonly CompiledGroup[],
  settings: QuotaSettings,
  who: string,
): readonly LintFinding[] {
  const denied = settings.uncovered === 'deny' && groups.length > 0;
  if (!denied && settings.totalBytes !== -1) return [];
  const follows = denied
    ? 'UNCOVERED = deny refuses this data'
    : 'with [quota.default] TOTAL = -1 this data has no limit';
  const counted = groups.flatMap(group => group.rules).reduce((mask, rule) => mask | rule.counts, 0);
  return subjectsWithin(leafMask('size:all') & ~counted).map(subject => {
    const what = subject === 'size:all' ? 'anything' : subjectWords(subject);
    return { code: 'uncovered_subject', subject, message: `${who}: no rule covers ${what}; ${follows}.` };
  });
}

/** Finds bounds that apply to nobody, or that never refuse before another limit does. */
function* idleBounds(
  groups: readonly CompiledGroup[],
  { defaultGroups, members = new Map(), settings, asked }: LintedPolicy,
  inForce: readonly CompiledGroup[],
): Work<readonly LintFinding[]> {
  const defaults = inForce.filter(({ name }) => defaultGroups.includes(name));
  const pushes = groupsWith(inForce, ({ per }) => per === 'push');
  const sharedBy = yield* sharedGroups(inForce, members);
  return yield* findIn(groups, group => {
    const own = members.get(group.name) ?? [];
    const isDefault = defaultGroups.includes(group.name);
    const shared = group.rules.some(isOfThings) ? sharedBy(own) : [];
    const liftedBy = (rule: CompiledRule) => {
      const byDefault = isDefault ? lifting(rule, group, defaults, settings) : null;
      const byShared = own.length > 0 ? lifting(rule, group, shared, settings) : null;
      if ((isDefault && byDefault === null) || (own.length > 0 && byShared === null)) return null;
      if (byDefault !== null)
        return `never decides: ${quoted(byDefault)}, also a default group, always allows at least as much`;
      return byShared === null
        ? null
        : `never decides: all members are in ${quoted(byShared)} as well, which always allows at least as much`;
    };
    return group.rules.flatMap(rule => {
      if (rule.per === undefined) return [];
      const ofPool = () => (isDefault ? onlyForAssigned : neverFilled(rule, group, own.length));
      const ofThings = () => unaskedHere(rule, asked) ?? aboveBound(rule, group, pushes) ?? liftedBy(rule);
      const why = isOfThings(rule) ? ofThings() : ofPool();
      if (why === null) return [];
      const message = `${ruleOf(rule, group)} ${why}.`;
      return [{ code: 'idle_bound', group: group.name, rule: nameOf(rule), message }];
    });
  });
}

/**
 * Returns a function that finds the groups with bounds that have all of some members, at least one. Groups
 * may have 100,000 members, so each list of them is read once, and only for groups with bounds.
 */
function* sharedGroups(
  groups: readonly CompiledGroup[],
  members: ReadonlyMap<string, readonly number[]>,
): Work<(own: readonly number[]) => readonly CompiledGroup[]> {
  const holders = new Map<number, { readonly group: CompiledGroup; readonly ids: ReadonlySet<number> }[]>();
  for (const group of groups.filter(({ rules }) => rules.some(isOfThings))) {
    const holder = { group, ids: new Set(members.get(group.name)) };
    for (const id of holder.ids) {
      const known = holders.get(id);
      if (known === undefined) holders.set(id, [holder]);
      else known.push(holder);
      yield;
    }
  }
  return own =>
    (holders.get(own[0] ?? 0) ?? [])
      .filter(({ ids }) => own.every(id => ids.has(id)))
      .map(({ group }) => group);
}

/** Tells whether a rule is a bound of single repositories, pushes or files. */
function isOfThings({ per }: CompiledRule): boolean {
  return per !== undefined && per !== 'group';
}

/** Says which data of a bound is never checked in this configuration; null: all is. */
function unaskedHere({ per, counts }: CompiledRule, asked: AskedHere | undefined): string | null {
  if (asked === undefined || counts === 0) return null;
  if ((counts & asked.leaves) === 0) {
    const data = subjectsWithin(counts).map(subjectWords).join(', ');
    return `is asked by nobody: app.ini names no repositories, uploads ([gate] PRESET) or [lfs] UPSTREAM for ${data}, so only programs that ask by themselves keep to it`;
  }
  const lfs = leafMask('size:git:lfs');
  if (per !== 'repository' || !asked.isLfsByOwner || (counts & lfs) === 0) return null;
  return `counts ${counts === lfs ? 'nothing' : 'no LFS objects'}: here they are known by their owners, and not by their repositories`;
}

const onlyForAssigned =
  'limits the members of the group together, and holds for nobody who is in it only by DEFAULT_GROUPS';

/** Finds a rule whose limit, times the number of members, fits into the pool; null: none, or no members. */
function neverFilled(pool: CompiledRule, { rules }: CompiledGroup, members: number): string | null {
  const own = rules.find(
    ({ per, limitBytes, counts, mode }) =>
      per === undefined &&
      mode === undefined &&
      (counts & pool.counts) === pool.counts &&
      limitBytes > 0 &&
      members > 0 &&
      limitBytes * members <= pool.limitBytes,
  );
  return own === undefined
    ? null
    : `has room for all that rule ${quoted(nameOf(own))} allows each of the ${members} members, so only more members, or other groups of theirs, can fill it`;
}

/** Names one of these groups whose bounds always allow at least as much as a bound of another group. */
function lifting(
  rule: CompiledRule,
  group: CompiledGroup,
  among: readonly CompiledGroup[],
  settings: QuotaSettings,
): string | null {
  if (rule.mode !== undefined) return null;
  const alone = { ...group, rules: [rule] };
  const others = groupsWith(among, ({ per }) => per === rule.per);
  return others.find(other => isInsteadOf(other, alone, settings))?.name ?? null;
}

/** Finds a push rule that refuses first, unless another group's lets such a push through. */
function aboveBound(
  { per, limitBytes, covers }: CompiledRule,
  { name }: CompiledGroup,
  pushes: readonly CompiledGroup[],
): string | null {
  if (per !== 'file') return null;
  const isLower = (push: CompiledRule) => push.limitBytes !== -1 && push.limitBytes < limitBytes;
  const lifts = (push: CompiledRule) => (push.covers & covers) !== 0 && !isLower(push);
  const own = pushes.find(each => each.name === name)?.rules ?? [];
  const lower = own.find(push => isLower(push) && (push.covers & covers) === covers);
  if (lower === undefined || pushes.some(each => each.name !== name && each.rules.some(lifts))) return null;
  return `allows larger files than rule ${quoted(nameOf(lower))} lets a whole push be, so that one refuses first`;
}

function covered(group: CompiledGroup): number {
  return group.rules.reduce((mask, rule) => mask | rule.covers, 0);
}

function size(mask: number): number {
  return mask === 0 ? 0 : (mask & 1) + size(mask >>> 1);
}

function ruleOf(rule: CompiledRule, group: CompiledGroup): string {
  return `Rule ${quoted(nameOf(rule))} of group ${quoted(group.name)}`;
}

/** Returns a rule's name. Only the built-in rule has none, and it is not part of a policy. */
function nameOf(rule: CompiledRule): string {
  return rule.name ?? '';
}

function quoted(name: string): string {
  return `"${printable(name)}"`;
}
