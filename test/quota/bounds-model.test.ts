/**
 * Decisions about policies with limits of all five shapes, compared with a plain and slow implementation that
 * was written from the sentences of the manual: no masks, nothing compiled, every sum added up anew.
 */

import fc from 'fast-check';
import t from 'tap';
import {
  type BoundScope,
  compileGroup,
  type Decision,
  decide,
  explain,
  type Graces,
  type Group,
  type Incoming,
  leafIndex,
  leafMask,
  leaves,
  type PooledBytes,
  type QuotaSettings,
  type ReservedBytes,
  type Rule,
  type RuleSubject,
  type StoredRepository,
  type Subject,
  standingIn,
  type Usage,
  withAncestors,
} from '../../src/quota/index.ts';
import { isLong } from '../run-length.ts';
import { adding, limit, settings, subject, usage } from './arbitraries.ts';

interface Asked {
  readonly settings: QuotaSettings;
  readonly assigned: readonly Group[];
  readonly defaults: readonly Group[];
  readonly usage: Usage;
  readonly reserved: readonly ReservedBytes[] | null;
  readonly unreachable: Usage | null;
  readonly subject: Subject;
  readonly adding: number;
  readonly allowance: number;
  readonly graces: Graces | undefined;
  /** By the names of groups. */
  readonly pools: Readonly<Record<string, PooledBytes>>;
  readonly repository: StoredRepository | null;
  readonly incoming: Incoming | undefined;
}

// The slow implementation.

interface Stored {
  readonly usage: Usage;
  readonly reserved: readonly ReservedBytes[] | null;
  readonly unreachable: Usage | null;
}

type Verdict = 'refuses' | 'graced' | 'allows';

interface Judged {
  readonly group: string | null;
  readonly rule: Rule;
  readonly used: number;
  readonly limit: number;
  readonly verdict: Verdict;
  readonly until: number;
}

interface Answer {
  readonly allowed: boolean;
  readonly step: string | null;
  readonly per?: string;
  readonly group: string | null;
  readonly rule: string | null;
  readonly used: number | null;
  readonly limit: number | null;
  readonly share?: number;
  readonly unasked?: readonly string[];
  readonly reported?: Answer;
  readonly warned?: Answer;
}

const builtin: Rule = { name: '', limitBytes: 0, subjects: ['size:all'] };

function names(rule: Rule, asked: Subject): boolean {
  return withAncestors(asked).some(above => rule.subjects.includes(above));
}

function bytesOf(rule: Rule, stored: Usage): number {
  return leaves
    .filter(leaf => names(rule, leaf))
    .reduce((sum, leaf) => sum + (stored[leafIndex(leaf)] ?? 0), 0);
}

function reservedOf(rule: Rule, reserved: readonly ReservedBytes[] | null): number {
  const mask = rule.subjects.map(leafMask).reduce((all, one) => all | one, 0);
  return (reserved ?? []).filter(one => (one.mask & mask) !== 0).reduce((sum, { bytes }) => sum + bytes, 0);
}

function judge(
  asked: Asked,
  group: string | null,
  rule: Rule,
  stored: Stored,
  graces: Graces | undefined,
  isTold: boolean,
): Judged {
  const by = asked.settings;
  const limitOf = rule.limitBytes > 0 ? rule.limitBytes + asked.allowance : rule.limitBytes;
  const bytes = bytesOf(rule, stored.usage);
  const garbage = Math.min(stored.unreachable === null ? 0 : bytesOf(rule, stored.unreachable), bytes);
  const isForgiven = by.garbage === 'forgive' && limitOf > 0;
  const forgiven = isForgiven ? Math.min(garbage, by.garbageMostBytes ?? limitOf) : 0;
  const used = bytes - forgiven + reservedOf(rule, stored.reserved);
  const after = used + (by.precise ? asked.adding : 0);
  const common = { group, rule, used, limit: limitOf };
  const isPassed =
    limitOf === 0 || (limitOf > 0 && (by.refuseWhen === 'reached' ? after >= limitOf : after > limitOf));
  if (!isPassed) return { ...common, verdict: 'allows', until: 0 };
  const ms = rule.graceMs ?? by.graceMs ?? 0;
  const isGraceable = rule.per === undefined || rule.per === 'group';
  if (!isGraceable || graces === undefined || rule.mode === 'warn' || limitOf === 0 || ms === 0) {
    return { ...common, verdict: 'refuses', until: 0 };
  }
  const begun = graces.begun.get(group === null ? null : rule.name);
  const since = begun === undefined || (begun.isReported && isTold) ? graces.now : begun.since;
  const most = rule.graceMost ?? by.graceMost ?? { percent: 10 };
  const beyond = 'bytes' in most ? most.bytes : Math.ceil((limitOf * most.percent) / 100);
  const isGraced = graces.now < since + ms && after < limitOf + beyond;
  return { ...common, verdict: isGraced ? 'graced' : 'refuses', until: since + ms };
}

const worstFirst = ['refuses', 'graced', 'allows'];

function left({ limit: most, used }: Judged): number {
  if (most === -1) return Number.POSITIVE_INFINITY;
  return most === 0 ? Number.NEGATIVE_INFINITY : most - used;
}

/** Below 0: `a` is the stricter one. */
function stricter(a: Judged, b: Judged): number {
  if (a.verdict !== b.verdict) return worstFirst.indexOf(a.verdict) - worstFirst.indexOf(b.verdict);
  if (a.verdict === 'graced' && a.until !== b.until) return a.until - b.until;
  return left(a) === left(b) ? 0 : left(a) - left(b);
}

function byName(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : Number((a ?? '') > (b ?? ''));
}

function strictest(all: readonly Judged[]): Judged | undefined {
  return [...all].sort((a, b) => stricter(a, b) || byName(a.rule.name, b.rule.name))[0];
}

function mostGenerous(all: readonly Judged[]): Judged | undefined {
  return [...all].sort((a, b) => stricter(b, a) || byName(a.group, b.group))[0];
}

type Mode = 'report' | 'warn' | null;

/** The groups with the rules in force and those of the mode, without those that have only others. */
function inMode(groups: readonly Group[], also: Mode): readonly Group[] {
  const counts = ({ mode }: Rule) => mode === undefined || mode === also;
  return groups
    .filter(({ rules }) => rules.length === 0 || rules.some(counts))
    .map(group => ({ ...group, rules: group.rules.filter(counts) }));
}

/** Each covering rule of this shape, judged, by groups; without groups that have none. */
function judgedGroups(
  asked: Asked,
  groups: readonly Group[],
  per: BoundScope | undefined,
  judgeRule: (group: Group, rule: Rule) => Judged,
): readonly (readonly Judged[])[] {
  return groups
    .map(group =>
      group.rules
        .filter(rule => rule.per === per && names(rule, asked.subject))
        .map(rule => judgeRule(group, rule)),
    )
    .filter(judged => judged.length > 0);
}

function told(step: string, { verdict, group, rule, used, limit: most }: Judged): Answer {
  const name = group === null ? null : rule.name;
  return { allowed: verdict !== 'refuses', step, group, rule: name, used, limit: most };
}

function isTold(asked: Asked): boolean {
  return asked.settings.mode === 'enforce';
}

/** The groups that speak at the step that answers. */
function spoken(asked: Asked, also: Mode, isOwnerTold: boolean) {
  const steps = [
    ['assigned', inMode(asked.assigned, also)],
    ['defaults', inMode(asked.defaults, also)],
  ] as const;
  for (const [step, groups] of steps) {
    const judged = judgedGroups(asked, groups, undefined, (group, rule) =>
      judge(asked, group.name, rule, asked, asked.graces, isOwnerTold),
    );
    if (judged.length > 0) return { step, judged };
    if (groups.length > 0 && asked.settings.uncovered === 'deny') return { step, judged: [] };
  }
  const total = { ...builtin, limitBytes: asked.settings.totalBytes };
  return { step: 'builtin', judged: [[judge(asked, null, total, asked, asked.graces, isOwnerTold)]] };
}

function ladder(asked: Asked, also: Mode, isOwnerTold: boolean): Answer {
  const { step, judged } = spoken(asked, also, isOwnerTold);
  const deciding = mostGenerous(judged.flatMap(rules => strictest(rules) ?? []));
  if (deciding !== undefined) return told(step, deciding);
  return { allowed: false, step, group: null, rule: null, used: null, limit: null };
}

/** A bound judged, with what it would say; `unasked`: nobody knows what it is about. */
interface BoundAnswer {
  readonly step: string;
  readonly judged: readonly (readonly Judged[])[];
  readonly isUnasked: boolean;
}

function judgeBound(asked: Asked, group: Group, rule: Rule, isOwnerTold: boolean): Judged {
  if (rule.per === 'group') {
    const pool = asked.pools[group.name];
    if (pool === undefined) throw new Error('every group has a pool');
    return judge(asked, group.name, rule, pool, pool.graces, isOwnerTold);
  }
  if (rule.per === 'repository') {
    const nothing = { usage: leaves.map(() => 0), reserved: null, unreachable: null };
    return judge(asked, group.name, rule, asked.repository ?? nothing, undefined, isOwnerTold);
  }
  const comes = (rule.per === 'push' ? asked.incoming?.bytes : asked.incoming?.largest?.bytes) ?? 0;
  const most = rule.limitBytes;
  const verdict = most !== -1 && comes > most ? 'refuses' : 'allows';
  return { group: group.name, rule, used: comes, limit: most, verdict, until: 0 };
}

function isKnown(asked: Asked, per: BoundScope): boolean {
  if (per === 'group') return true;
  if (per === 'repository') return asked.repository !== null;
  return ((per === 'push' ? asked.incoming?.bytes : asked.incoming?.largest?.bytes) ?? null) !== null;
}

/** The first step that has such a rule. */
function boundAt(asked: Asked, per: BoundScope, also: Mode, isOwnerTold: boolean): BoundAnswer | null {
  const judgeRule = (group: Group, rule: Rule) => judgeBound(asked, group, rule, isOwnerTold);
  const own = judgedGroups(asked, inMode(asked.assigned, also), per, judgeRule);
  if (per === 'group' || own.length > 0) {
    return own.length === 0 ? null : { step: 'assigned', judged: own, isUnasked: !isKnown(asked, per) };
  }
  const defaults = judgedGroups(asked, inMode(asked.defaults, also), per, judgeRule);
  if (defaults.length === 0) return null;
  return { step: 'defaults', judged: defaults, isUnasked: !isKnown(asked, per) };
}

function refusedBy(asked: Asked, per: BoundScope, { step, judged, isUnasked }: BoundAnswer): Answer | null {
  if (isUnasked) return null;
  const groups = judged.flatMap(rules => strictest(rules) ?? []);
  // Each pool holds by itself; of the other bounds the most generous group speaks.
  const pools = [...groups].sort((a, b) => stricter(a, b) || byName(a.group, b.group));
  const speaking = per === 'group' ? pools[0] : mostGenerous(groups);
  if (speaking?.verdict !== 'refuses') return null;
  const answer = { ...told(step, speaking), per };
  if (per !== 'group') return answer;
  const own = bytesOf(speaking.rule, asked.usage) + reservedOf(speaking.rule, asked.reserved);
  return { ...answer, share: Math.min(own, speaking.used) };
}

const shapes: readonly BoundScope[] = ['group', 'repository', 'push', 'file'];

function inForce(asked: Asked, also: Mode, isOwnerTold: boolean): Answer {
  const answer = ladder(asked, also, isOwnerTold);
  if (!answer.allowed) return answer;
  const unasked: string[] = [];
  for (const per of shapes) {
    const bound = boundAt(asked, per, also, isOwnerTold);
    if (bound === null) continue;
    const refused = refusedBy(asked, per, bound);
    if (refused !== null) return refused;
    const speaking = mostGenerous(bound.judged.flatMap(rules => strictest(rules) ?? []));
    if (bound.isUnasked && speaking?.limit !== -1) unasked.push(per);
  }
  return unasked.length === 0 ? answer : { ...answer, unasked };
}

/** The most generous of those groups that a warning rule closes, by that rule. */
function warnedAmong(judged: readonly (readonly Judged[])[]): Judged | undefined {
  const warning = judged.map(rules => rules.filter(({ rule }) => rule.mode === 'warn'));
  const closed = warning.flatMap(rules => strictest(rules) ?? []).filter(one => one.verdict === 'refuses');
  return mostGenerous(closed);
}

function warned(asked: Asked): Answer | null {
  if (!ladder(asked, 'warn', isTold(asked)).allowed) {
    const { step, judged } = spoken(asked, 'warn', isTold(asked));
    const found = warnedAmong(judged);
    if (found !== undefined) return told(step, found);
  }
  for (const per of shapes) {
    const bound = boundAt(asked, per, 'warn', isTold(asked));
    const refused = bound === null ? null : refusedBy(asked, per, bound);
    if (bound === null || refused === null) continue;
    if (per === 'group') return refused;
    const found = warnedAmong(bound.judged);
    return found === undefined ? null : { ...told(bound.step, found), per };
  }
  return null;
}

function slowly(asked: Asked): Answer {
  const answer = inForce(asked, null, isTold(asked));
  if (!answer.allowed) return answer;
  const rules = [...asked.assigned, ...asked.defaults].flatMap(group => group.rules);
  const has = (mode: Mode) => rules.some(rule => rule.mode === mode);
  const reported = has('report') ? inForce(asked, 'report', false) : null;
  const warning = has('warn') ? warned(asked) : null;
  return {
    ...answer,
    ...(reported === null || reported.allowed ? {} : { reported }),
    ...(warning === null ? {} : { warned: warning }),
  };
}

// The comparison.

const shape = fc.constantFrom<BoundScope | undefined>(undefined, undefined, ...shapes);
const mode = fc.constantFrom<Rule['mode']>(undefined, undefined, undefined, 'report', 'warn');
const ruleNames = ['a', 'b', 'c', 'd', 'é', 'f'] as const;
const groupNames = ['p', 'q', 'r', 's', 'é'] as const;

const rule: fc.Arbitrary<Rule> = fc
  .record({
    name: fc.constantFrom(...ruleNames),
    limitBytes: limit,
    subjects: fc.oneof(
      fc.constant<readonly RuleSubject[]>(['size:all']),
      fc.array<RuleSubject>(subject, { maxLength: 4 }),
    ),
    per: shape,
    mode,
    graceMs: fc.constantFrom(undefined, undefined, 0, 50, 1000),
    graceMost: fc.constantFrom(undefined, { bytes: 5 }, { percent: 40 }),
  })
  .map(({ name, limitBytes, subjects, per, mode: inMode, graceMs, graceMost }): Rule => {
    const isOfIncoming = per === 'push' || per === 'file';
    return {
      name,
      limitBytes: isOfIncoming && limitBytes === 0 ? 1 : limitBytes,
      subjects,
      ...(per === undefined ? {} : { per }),
      ...(inMode === undefined ? {} : { mode: inMode }),
      ...(graceMs === undefined || isOfIncoming ? {} : { graceMs }),
      ...(graceMost === undefined || isOfIncoming ? {} : { graceMost }),
    };
  });

const groups: fc.Arbitrary<readonly Group[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...groupNames),
    rules: fc.uniqueArray(rule, { maxLength: 5, selector: ({ name }) => name }),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);

const graces: fc.Arbitrary<Graces | undefined> = fc.option(
  fc
    .array(
      fc.tuple(
        fc.constantFrom(null, ...ruleNames),
        fc.record({ since: fc.integer({ min: 0, max: 100 }), isReported: fc.boolean() }),
      ),
      { maxLength: 4 },
    )
    .map(begun => ({ now: 100, begun: new Map(begun) })),
  { nil: undefined },
);

const reserved = fc.option(
  fc.array(fc.record({ mask: fc.integer({ min: 1, max: 255 }), bytes: fc.nat(20) }), {
    minLength: 1,
    maxLength: 3,
  }),
);

const stored = fc.record({ usage, reserved, unreachable: fc.option(usage) });

const asked: fc.Arbitrary<Asked> = fc
  .record({
    settings: fc
      .tuple(
        settings,
        fc.constantFrom(undefined, null, 60),
        fc.constantFrom<QuotaSettings['garbage']>('bill', 'forgive'),
        fc.constantFrom(undefined, null, 0, 7),
        fc.constantFrom<QuotaSettings['mode']>('enforce', 'report'),
      )
      .map(
        ([plain, graceMs, garbage = 'bill', garbageMostBytes, inMode]): QuotaSettings => ({
          ...plain,
          garbage,
          mode: inMode,
          ...(graceMs === undefined ? {} : { graceMs }),
          ...(garbageMostBytes === undefined ? {} : { garbageMostBytes }),
        }),
      ),
    assigned: groups,
    defaults: groups,
    own: stored,
    subject,
    adding,
    allowance: fc.oneof(fc.constant(0), fc.nat(30)),
    graces,
    pools: fc.tuple(...groupNames.map(() => fc.tuple(stored, graces))),
    repository: fc.option(stored.map(one => ({ ...one, name: 'alice/app' }))),
    incoming: fc.option(
      fc.record({
        bytes: fc.option(fc.nat(60)),
        largest: fc.option(fc.record({ bytes: fc.nat(60) })),
      }),
      { nil: undefined },
    ),
  })
  .map(({ own, pools, ...rest }) => ({
    ...rest,
    ...own,
    pools: Object.fromEntries(
      pools.map(([one, begun], at): [string, PooledBytes] => [
        groupNames[at] ?? '',
        begun === undefined ? one : { ...one, graces: begun },
      ]),
    ),
  }));

function question(asked: Asked): Parameters<typeof decide>[0] {
  const { allowance, graces: running, pools, assigned, defaults, adding: addingBytes, ...rest } = asked;
  const groupsOf = standingIn({ assigned: assigned.map(compileGroup), defaults: defaults.map(compileGroup) });
  return {
    ...rest,
    addingBytes,
    pools: name => pools[name] ?? { usage: [], reserved: null, unreachable: null },
    standing: {
      ...groupsOf,
      ...(allowance === 0 ? {} : { allowance: { bytes: allowance, count: 1, until: 1000 } }),
      ...(running === undefined ? {} : { graces: running }),
    },
  };
}

/** The part of a decision that the slow implementation gives. */
function answerOf(decision: Decision): Answer {
  const {
    allowed,
    step,
    per,
    group,
    rule: name,
    used,
    limit: most,
    unasked,
    reported,
    warned: warning,
  } = decision;
  const share = decision.by === 'rule' ? decision.share : undefined;
  return {
    allowed,
    step,
    group,
    rule: name,
    used,
    limit: most,
    ...(per === undefined ? {} : { per }),
    ...(share === undefined ? {} : { share }),
    ...(unasked === undefined ? {} : { unasked }),
    ...(reported === undefined || reported.allowed ? {} : { reported: answerOf(reported) }),
    ...(warning === undefined ? {} : { warned: answerOf(warning) }),
  };
}

t.test('limits of all shapes decide as the manual says', async t => {
  const seen = new Map<string, number>();
  const count = (name: string) => void seen.set(name, (seen.get(name) ?? 0) + 1);
  fc.assert(
    fc.property(asked, one => {
      const decision = answerOf(decide(question(one)));
      const expected = slowly(one);
      count(`${expected.allowed ? 'allowed' : 'refused'} by ${expected.per ?? 'owner'}`);
      if (expected.reported?.per !== undefined) count('reported by a bound');
      if (expected.warned?.per !== undefined) count(`warned by ${expected.warned.per}`);
      const [is, should] = [decision, expected].map(sorted);
      if (is !== should) t.equal(is, should);
      return is === should;
    }),
    { numRuns: isLong ? 100_000 : 3000 },
  );
  for (const per of shapes) {
    t.ok((seen.get(`refused by ${per}`) ?? 0) > 10, `bounds of a ${per} refused often enough`);
    t.ok((seen.get(`warned by ${per}`) ?? 0) > 0, `bounds of a ${per} warned`);
  }
  t.ok((seen.get('reported by a bound') ?? 0) > 10);
});

function sorted(answer: Answer): string {
  return JSON.stringify(answer, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

t.test('an explanation names the bound that decides, and no other', async () => {
  fc.assert(
    fc.property(asked, one => {
      const { decision, bounds = [], steps } = explain(question(one));
      const deciding = bounds.filter(({ decided }) => decided);
      const byGroups = steps.flatMap(({ groups: all }) => all).filter(({ decided }) => decided);
      if (decision.per === undefined) return deciding.length === 0;
      const [only] = deciding;
      return (
        deciding.length === 1 &&
        byGroups.length === 0 &&
        only?.rule === decision.rule &&
        only?.used === decision.used &&
        only?.limit === decision.limit &&
        only?.verdict === 'refuses'
      );
    }),
    { numRuns: isLong ? 20_000 : 1000 },
  );
});
