/**
 * The sentences of docs/policy.md about decisions, as a plain and slow program.
 *
 * It shares only the tree of subjects with `decide`, and looks at every rule of every group each time. A change
 * of a sentence is a change here, too.
 */

import {
  type BoundScope,
  type Group,
  type Leaf,
  leaves,
  type QuotaSettings,
  type Rule,
  type RuleMode,
  type RuleScope,
  type RuleSubject,
  type RunningGrace,
  type Subject,
  type Usage,
  withAncestors,
} from '../../src/quota/index.ts';

export interface Reservation {
  readonly subject: Subject;
  readonly bytes: number;
}

/** The bytes that somebody stores, in a world of the model. */
export interface Stock {
  readonly usage: Usage;
  /** Never more of a kind than `usage` has of it. */
  readonly unreachable: Usage;
  readonly reserved: readonly Reservation[];
}

export type Begun = ReadonlyMap<string | null, RunningGrace>;

/** All that bears on a decision about the first member. */
export interface World {
  readonly settings: QuotaSettings;
  readonly assigned: readonly Group[];
  readonly defaults: readonly Group[];
  readonly owner: Stock;
  /** The other members of a group, by its name. */
  readonly others: ReadonlyMap<string, readonly Stock[]>;
  readonly repository: (Stock & { readonly name: string }) | null;
  /** Null: nobody can tell. */
  readonly pushBytes: number | null;
  readonly fileBytes: number | null;
  readonly addingBytes: number;
  readonly allowanceBytes: number;
  readonly now: number;
  readonly begun: Begun;
  readonly begunByPool: ReadonlyMap<string, Begun>;
}

type Verdict = 'refuses' | 'graced' | 'allows';

/** A rule; the name of `[quota.default] TOTAL` is null. */
type Limit = Omit<Rule, 'name'> & { readonly name: string | null };

/** The answer of a limit. */
interface Word {
  readonly group: string | null;
  readonly rule: Limit;
  readonly used: number;
  readonly limit: number;
  /** Endless for -1; less than any other for 0. */
  readonly headroom: number;
  readonly verdict: Verdict;
  /** The end of the grace by which it lets through, else 0. */
  readonly until: number;
}

export type ModelStep = 'assigned' | 'defaults' | 'builtin';

/** Null, but for the step: no rule covers the subject, and UNCOVERED = deny. */
export interface ModelAnswer {
  readonly allowed: boolean;
  readonly step: ModelStep;
  readonly group: string | null;
  readonly rule: string | null;
  readonly per: RuleScope;
  readonly used: number | null;
  readonly limit: number | null;
}

export interface ModelDecision extends ModelAnswer {
  /** The refusal by rules that only report; null: there is none. */
  readonly reported: ModelAnswer | null;
  /** The refusal by rules that only warn. */
  readonly warned: ModelAnswer | null;
  /** Bounds of which nobody can tell whether they are passed. */
  readonly unasked: readonly RuleScope[];
}

const ranks: readonly Verdict[] = ['refuses', 'graced', 'allows'];

const rank = ({ verdict }: Word): number => ranks.indexOf(verdict);
const byText = (a: string | null, b: string | null) => ((a ?? '') < (b ?? '') ? -1 : a === b ? 0 : 1);
const difference = (a: number, b: number) => (a === b ? 0 : a - b);

/** The grace that ends first is the strictest; without graces the smallest headroom is. */
function strictness(a: Word, b: Word): number {
  return rank(a) - rank(b) || a.until - b.until || difference(a.headroom, b.headroom);
}

/** Ties go by name. */
function byStrictness(a: Word, b: Word): number {
  return strictness(a, b) || byText(a.group, b.group) || byText(a.rule.name, b.rule.name);
}

function strictest(words: readonly Word[]): Word | null {
  return words.toSorted(byStrictness)[0] ?? null;
}

/** Among groups, by the strictest word of each; ties go by name. */
function mostGenerous(words: readonly Word[]): Word | null {
  return words.toSorted((a, b) => strictness(b, a) || byText(a.group, b.group))[0] ?? null;
}

const isUnder = (subject: Subject, named: readonly RuleSubject[]) =>
  withAncestors(subject).some(above => named.includes(above));

const perOf = ({ per }: { readonly per?: BoundScope }): RuleScope => per ?? 'owner';

/** The bytes of these leaves. */
function bytesOf(usage: Usage, counted: readonly Leaf[]): number {
  return leaves.reduce((sum, leaf, at) => sum + (counted.includes(leaf) ? (usage[at] ?? 0) : 0), 0);
}

/** Stored bytes and reservations that a rule counts, without those that it forgives. */
function usedOf(rule: Limit, limit: number, stocks: readonly Stock[], settings: QuotaSettings): number {
  const counted = leaves.filter(leaf => isUnder(leaf, rule.subjects));
  const sum = (of: (stock: Stock) => number) => stocks.reduce((before, stock) => before + of(stock), 0);
  const stored = sum(({ usage }) => bytesOf(usage, counted));
  const unreachable = sum(stock => bytesOf(stock.unreachable, counted));
  const mostForgiven = limit <= 0 ? 0 : (settings.garbageMostBytes ?? limit);
  const forgiven = settings.garbage === 'forgive' ? Math.min(unreachable, mostForgiven) : 0;
  const reserved = sum(({ reserved: all }) =>
    all
      .filter(({ subject }) => counted.some(leaf => isUnder(leaf, [subject])))
      .reduce((before, { bytes }) => before + bytes, 0),
  );
  return stored - forgiven + reserved;
}

/** The rules that are asked together: those in force, with those of one mode. */
interface Pass {
  readonly world: World;
  readonly subject: Subject;
  readonly mode: RuleMode | null;
  readonly assigned: readonly Group[];
  readonly defaults: readonly Group[];
}

/** A limit of what is stored: by an owner, a pool or in a repository. */
function wordOnStored(group: string | null, rule: Limit, stocks: readonly Stock[], begun: Begun, pass: Pass) {
  const { settings, addingBytes, allowanceBytes, now } = pass.world;
  const limit = rule.limitBytes > 0 ? rule.limitBytes + allowanceBytes : rule.limitBytes;
  const used = usedOf(rule, limit, stocks, settings);
  const over = used + (settings.precise ? addingBytes : 0) - limit;
  const left = limit === -1 ? Number.POSITIVE_INFINITY : limit - used;
  const headroom = limit === 0 ? Number.NEGATIVE_INFINITY : left;
  const word = (verdict: Verdict, until = 0) => ({ group, rule, used, limit, headroom, verdict, until });
  if (limit === -1) return word('allows');
  if (limit === 0) return word('refuses');
  if (settings.refuseWhen === 'reached' ? over < 0 : over <= 0) return word('allows');
  if (rule.mode === 'warn' || perOf(rule) === 'repository') return word('refuses');
  const most = rule.graceMost ?? settings.graceMost ?? { percent: 10 };
  const reach = 'bytes' in most ? most.bytes : (limit * most.percent) / 100;
  const its = begun.get(rule.name);
  // The time in which a limit only reported does not count, since nobody was warned. What would be refused by
  // rules in report mode is told as if they had been in force since then.
  const isTold = settings.mode === 'enforce' && pass.mode !== 'report';
  const since = its === undefined || (isTold && its.isReported) ? now : its.since;
  const until = since + (rule.graceMs ?? settings.graceMs ?? 0);
  return now < until && over < reach ? word('graced', until) : word('refuses');
}

/** A limit of what comes. */
function wordOnIncoming(group: string, rule: Limit, bytes: number): Word {
  const limit = rule.limitBytes;
  const headroom = limit === -1 ? Number.POSITIVE_INFINITY : limit - bytes;
  return {
    group,
    rule,
    used: bytes,
    limit,
    headroom,
    verdict: headroom < 0 ? 'refuses' : 'allows',
    until: 0,
  };
}

function coveringIn({ rules }: Group, per: RuleScope, { subject }: Pass): readonly Rule[] {
  return rules.filter(rule => perOf(rule) === per && isUnder(subject, rule.subjects));
}

/** The words of those rules of a group that cover the subject; null: what they compare is not known. */
function wordsOf(per: RuleScope, group: Group, pass: Pass): readonly Word[] | null {
  const { owner, others, repository, pushBytes, fileBytes, begun, begunByPool } = pass.world;
  const { name } = group;
  const covering = coveringIn(group, per, pass);
  const onStored = (stocks: readonly Stock[], since: Begun) =>
    covering.map(rule => wordOnStored(name, rule, stocks, since, pass));
  if (per === 'owner') return onStored([owner], begun);
  if (per === 'group')
    return onStored([owner, ...(others.get(name) ?? [])], begunByPool.get(name) ?? new Map());
  if (per === 'repository') return repository === null ? null : onStored([repository], new Map());
  const bytes = per === 'push' ? pushBytes : fileBytes;
  return bytes === null ? null : covering.map(rule => wordOnIncoming(name, rule, bytes));
}

/** The groups that speak, each with its words. */
interface Speech {
  readonly per: RuleScope;
  readonly step: ModelStep;
  readonly groups: readonly (readonly Word[])[];
}

function stepsOf({ assigned, defaults }: Pass) {
  return [
    { step: 'assigned', groups: assigned },
    { step: 'defaults', groups: defaults },
  ] as const;
}

/** Limits of the owner; no group speaks where none covers the subject and UNCOVERED = deny. */
function ladder(pass: Pass): Speech {
  const { settings, owner, begun } = pass.world;
  for (const { step, groups } of stepsOf(pass)) {
    const speaking = groups.map(group => wordsOf('owner', group, pass) ?? []).filter(isSome);
    // A group that only warns has nothing to deny.
    const isIn = groups.some(({ rules }) => rules.length === 0 || rules.some(({ mode }) => mode !== 'warn'));
    if (speaking.length > 0) return { per: 'owner', step, groups: speaking };
    if (isIn && settings.uncovered === 'deny') return { per: 'owner', step, groups: [] };
  }
  const total: Limit = { name: null, limitBytes: settings.totalBytes, subjects: ['size:all'] };
  return { per: 'owner', step: 'builtin', groups: [[wordOnStored(null, total, [owner], begun, pass)]] };
}

const isSome = (words: readonly Word[]) => words.length > 0;

/** Bounds in their order; null: what one compares is not known. */
function bounds(pass: Pass): readonly { readonly per: RuleScope; readonly speech: Speech | null }[] {
  // Each pool is a bound of its own.
  const pools = pass.assigned.flatMap(group => {
    const words = wordsOf('group', group, pass) ?? [];
    return words.map(word => ({ per: 'group', step: 'assigned', groups: [[word]] }) as const);
  });
  const strictestFirst = pools.toSorted((a, b) => byStrictness(a.groups[0][0], b.groups[0][0]));
  const others = (['repository', 'push', 'file'] as const).flatMap(per => {
    for (const { step, groups } of stepsOf(pass)) {
      const covering = groups.filter(group => coveringIn(group, per, pass).length > 0);
      // A group in which nothing is limited lifts the bound.
      const isLifted = covering.some(group =>
        coveringIn(group, per, pass).every(({ limitBytes }) => limitBytes === -1),
      );
      if (isLifted) return [];
      const words = covering.flatMap(group => [wordsOf(per, group, pass) ?? []]);
      if (covering.length > 0)
        return { per, speech: words.every(isSome) ? { per, step, groups: words } : null };
    }
    return [];
  });
  return [...strictestFirst.map(speech => ({ per: speech.per, speech })), ...others];
}

function deciding({ groups }: Speech): Word | null {
  return mostGenerous(groups.flatMap(words => strictest(words) ?? []));
}

/** The ladder, and where it allows the first bound that refuses. */
function spoken(pass: Pass): { readonly speech: Speech; readonly word: Word | null } {
  const first = ladder(pass);
  const word = deciding(first);
  if (word === null || word.verdict === 'refuses') return { speech: first, word };
  for (const { speech } of bounds(pass)) {
    const bound = speech === null ? null : deciding(speech);
    if (speech !== null && bound?.verdict === 'refuses') return { speech, word: bound };
  }
  return { speech: first, word };
}

function answerOf({ per, step }: Speech, word: Word | null): ModelAnswer {
  if (word === null) return { allowed: false, step, group: null, rule: null, per, used: null, limit: null };
  const { group, rule, used, limit, verdict } = word;
  return { allowed: verdict !== 'refuses', step, group, rule: rule.name, per, used, limit };
}

/** The limit that is told of: of a group that refuses only by it. */
function warningOf({ speech, word }: ReturnType<typeof spoken>): ModelAnswer | null {
  if (word?.verdict !== 'refuses') return null;
  const passed = speech.groups
    .map(words => words.filter(({ verdict }) => verdict === 'refuses'))
    .filter(words => words.every(({ rule }) => rule.mode === 'warn'));
  return answerOf(speech, mostGenerous(passed.flatMap(words => strictest(words) ?? [])));
}

export function decideBySentences(world: World, subject: Subject): ModelDecision {
  /** A group that has only rules that are left out is as if it had no members. */
  const withMode = (groups: readonly Group[], mode: RuleMode | null) =>
    groups
      .map(group => ({ ...group, rules: group.rules.filter(one => (one.mode ?? mode) === mode) }))
      .filter(({ rules }, at) => rules.length > 0 || groups[at]?.rules.length === 0);
  const pass = (mode: RuleMode | null): Pass => {
    const [assigned, defaults] = [withMode(world.assigned, mode), withMode(world.defaults, mode)];
    return { world, subject, mode, assigned, defaults };
  };
  const inForce = spoken(pass(null));
  const answer = answerOf(inForce.speech, inForce.word);
  if (!answer.allowed) return { ...answer, reported: null, warned: null, unasked: [] };
  const hasReports = [...world.assigned, ...world.defaults].some(({ rules }) =>
    rules.some(({ mode }) => mode === 'report'),
  );
  const withReports = hasReports ? spoken(pass('report')) : inForce;
  const report = answerOf(withReports.speech, withReports.word);
  return {
    ...answer,
    reported: report.allowed ? null : report,
    warned: warningOf(spoken(pass('warn'))),
    unasked: bounds(pass(null)).flatMap(({ per, speech }) => (speech === null ? per : [])),
  };
}
