/** On random policies with all that a rule can limit, `decide` says what docs/policy.md says. */

import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import {
  bytesUnder,
  type Decision,
  decide,
  explain,
  type GraceMost,
  type Group,
  leafMask,
  leastFileBytes,
  leaves,
  type QuotaSettings,
  type Rule,
  type RuleSubject,
  ruleModes,
  ruleScopes,
  type Standing,
  type Subject,
  subjects,
  type Usage,
} from '../../src/quota/index.ts';
import { isLong } from '../run-length.ts';
import { adding, limit, settings, standing, subject, usage } from './arbitraries.ts';
import { type Begun, decideBySentences, type ModelAnswer, type Stock, type World } from './sentences.ts';

/** Worlds; each is asked about every subject. */
const worlds = isLong ? 20_000 : 700;
const now = 100;
const ruleNames = ['a', 'b', 'c', 'd', 'e', 'é'] as const;
const groupNames = ['p', 'q', 'r', 's'] as const;

const graceMs = fc.constantFrom(0, 30, 60, 70, 80);
const graceMost: fc.Arbitrary<GraceMost> = fc.oneof(
  fc.record({ bytes: fc.nat(60) }),
  fc.record({ percent: fc.integer({ min: 1, max: 300 }) }),
);

const bytesOfLimit = fc.oneof(
  { weight: 2, arbitrary: limit },
  { weight: 1, arbitrary: fc.constant(-1) },
  { weight: 3, arbitrary: fc.nat(400) },
  { weight: 2, arbitrary: fc.integer({ min: 10, max: 60 }) },
);

const mode = fc.constantFrom(undefined, undefined, undefined, ...ruleModes);
const per = fc.constantFrom('owner' as const, 'owner' as const, 'owner' as const, ...ruleScopes);

/** A push and a file have neither a limit of 0 nor a grace. */
const rule: fc.Arbitrary<Rule> = fc
  .record({
    name: fc.constantFrom(...ruleNames),
    limitBytes: bytesOfLimit,
    subjects: fc.oneof<fc.WeightedArbitrary<readonly RuleSubject[]>[]>(
      { weight: 4, arbitrary: fc.constant<readonly RuleSubject[]>(['size:all']) },
      { weight: 4, arbitrary: fc.subarray<RuleSubject>(['size:assets:all', 'size:git:all', 'none']) },
      { weight: 2, arbitrary: fc.array(subject, { maxLength: 3 }) },
    ),
    per,
    mode,
    grace: fc.record({ graceMs, graceMost }, { requiredKeys: [] }),
  })
  .map(({ limitBytes, per: shape, mode: inMode, grace, ...rest }) => {
    const isOfIncoming = shape === 'push' || shape === 'file';
    return {
      ...rest,
      ...(isOfIncoming ? {} : grace),
      limitBytes: isOfIncoming && limitBytes === 0 ? 7 : limitBytes,
      ...(shape === 'owner' ? {} : { per: shape }),
      ...(inMode === undefined ? {} : { mode: inMode }),
    };
  });

/** Groups with some of these rules each, so that a rule may be in several. */
const policy = fc
  .record({
    rules: fc.uniqueArray(rule, { minLength: 3, maxLength: 6, selector: ({ name }) => name }),
    chosen: fc.array(fc.subarray([0, 1, 2, 3, 4, 5]), {
      minLength: groupNames.length,
      maxLength: groupNames.length,
    }),
    assigned: fc.shuffledSubarray([...groupNames]),
    defaults: fc.shuffledSubarray([...groupNames]),
  })
  .map(({ rules, chosen, assigned, defaults }) => {
    const group = (name: (typeof groupNames)[number]): Group => {
      const own = chosen[groupNames.indexOf(name)] ?? [];
      return { name, rules: rules.filter((_, at) => own.includes(at)) };
    };
    return { assigned: assigned.map(group), defaults: defaults.map(group) };
  });

const stock: fc.Arbitrary<Stock> = fc
  .record({
    usage,
    unreachable: fc.oneof(fc.constant<Usage>([]), usage),
    reserved: fc.array(fc.record({ subject, bytes: fc.nat(12) }), { maxLength: 2 }),
  })
  .map(({ usage: stored, unreachable, reserved }) => ({
    usage: stored,
    unreachable: stored.map((bytes, at) => Math.min(bytes, unreachable[at] ?? 0)),
    reserved,
  }));

const begun: fc.Arbitrary<Begun> = fc
  .array(
    fc.record({
      name: fc.constantFrom(null, ...ruleNames),
      since: fc.integer({ min: 45, max: now }),
      isReported: fc.boolean(),
    }),
    { maxLength: 5 },
  )
  .map(all => new Map(all.map(({ name, ...grace }) => [name, grace])));

const anySettings: fc.Arbitrary<QuotaSettings> = fc
  .tuple(
    settings,
    fc.record({
      mode: fc.constantFrom('enforce' as const, 'enforce' as const, 'report' as const),
      uncovered: fc.constantFrom('default' as const, 'default' as const, 'deny' as const),
      totalBytes: bytesOfLimit,
      garbage: fc.constantFrom('bill' as const, 'forgive' as const),
      garbageMostBytes: fc.option(fc.nat(40)),
      graceMs: fc.constantFrom(null, 50, 70),
      graceMost,
    }),
  )
  .map(([base, more]) => ({ ...base, ...more }));

const size = fc.option(fc.oneof(fc.nat(60), fc.nat(250)));

const anyWorld: fc.Arbitrary<World> = fc
  .record({
    policy,
    settings: anySettings,
    owner: stock,
    members: fc.array(fc.record({ stock, groups: fc.subarray([...groupNames]) }), { maxLength: 3 }),
    repository: fc.option(stock.map(each => ({ ...each, name: '/srv/git/alice/app.git' }))),
    pushBytes: size,
    fileBytes: size,
    addingBytes: adding,
    allowanceBytes: fc.oneof(fc.constant(0), fc.nat(40)),
    begun,
    pools: fc.array(begun, { minLength: groupNames.length, maxLength: groupNames.length }),
  })
  .map(({ policy: { assigned, defaults }, members, pools, ...world }) => ({
    ...world,
    assigned,
    defaults,
    now,
    others: new Map(
      groupNames.map(name => [
        name,
        members.filter(({ groups }) => groups.includes(name)).map(each => each.stock),
      ]),
    ),
    begunByPool: new Map(groupNames.map((name, at) => [name, pools[at] ?? new Map()])),
  }));

/** Everything that these store, as the ledger adds it up. */
function together(stocks: readonly Stock[]) {
  const sum = (of: (each: Stock) => Usage): Usage =>
    leaves.map((_, at) => stocks.reduce((before, each) => before + (of(each)[at] ?? 0), 0));
  return {
    usage: sum(each => each.usage),
    unreachable: sum(each => each.unreachable),
    reserved: stocks.flatMap(({ reserved }) =>
      reserved.map(({ subject: named, bytes }) => ({ mask: leafMask(named), bytes })),
    ),
  };
}

/** The groups of an owner, as the policy gives them to decisions. */
function standingOf({ assigned, defaults, ...world }: World): Standing {
  const { allowanceBytes: bytes } = world;
  return {
    ...standing(assigned, defaults),
    allowance: bytes === 0 ? null : { bytes, count: 1, until: 1000 },
    graces: { now, begun: world.begun },
  };
}

function questionIn(world: World, what: Subject): Parameters<typeof decide>[0] {
  const { owner, others, repository, pushBytes, fileBytes } = world;
  return {
    ...together([owner]),
    settings: world.settings,
    standing: standingOf(world),
    subject: what,
    addingBytes: world.addingBytes,
    pools: group => ({
      ...together([owner, ...(others.get(group) ?? [])]),
      graces: { now, begun: world.begunByPool.get(group) ?? new Map() },
    }),
    repository: repository === null ? null : { ...together([repository]), name: repository.name },
    incoming: { bytes: pushBytes, largest: fileBytes === null ? null : { bytes: fileBytes } },
  };
}

function inShort(decision: Decision): ModelAnswer {
  const { allowed, step, group, rule: name, per = 'owner', used, limit: most } = decision;
  return { allowed, step: step ?? 'builtin', group, rule: name, per, used, limit: most };
}

/** The part of a pool that is the member's own; the repository; the file. */
function details({ share, unit, file }: Decision) {
  return { share, unit, file: file?.bytes };
}

function expectedDetails(
  { assigned, owner, repository }: World,
  { per, group, rule: name, used }: ModelAnswer,
) {
  const pool = assigned.find(each => each.name === group)?.rules.find(each => each.name === name);
  const counts = pool?.subjects.reduce((mask, named) => mask | leafMask(named), 0) ?? 0;
  const own = together([owner]);
  const reserved = own.reserved.filter(({ mask }) => (mask & counts) !== 0);
  const share = reserved.reduce((sum, { bytes }) => sum + bytes, bytesUnder(own.usage, counts));
  return {
    // The bytes that a pool forgives are nobody's in particular.
    share: per === 'group' ? Math.min(share, used ?? 0) : undefined,
    unit: per === 'repository' ? repository?.name : undefined,
    file: per === 'file' ? used : undefined,
  };
}

const shortOrNull = (decision: Decision | undefined) => (decision === undefined ? null : inShort(decision));

t.test('decisions are those of the sentences', async t => {
  const occasions = new Map<string, number>();
  const see = (occasion: string) => occasions.set(occasion, (occasions.get(occasion) ?? 0) + 1);
  const law = fc.property(anyWorld, world => {
    for (const what of subjects) {
      const { reported, warned, unasked, ...answer } = decideBySentences(world, what);
      const decision = decide(questionIn(world, what));
      deepStrictEqual(
        {
          ...inShort(decision),
          ...details(decision),
          reported: shortOrNull(decision.reported),
          warned: shortOrNull(decision.warned),
          unasked: decision.unasked ?? [],
        },
        { ...answer, ...expectedDetails(world, answer), reported, warned, unasked },
        what,
      );
      see(`${answer.allowed ? 'allowed' : 'refused'} by ${answer.per}`);
      if (answer.allowed && decision.grace !== undefined) see('let through by a grace');
      if (reported !== null) see(`reported by ${reported.per}`);
      if (warned !== null) see(`warned by ${warned.per}`);
      for (const per of unasked) see(`not told by ${per}`);
    }
  });
  fc.assert(law, { numRuns: worlds });
  t.comment(`${worlds * subjects.length} decisions`, Object.fromEntries(occasions));
  // Some occasions are rare, so that a short run may miss them.
  if (isLong) t.equal(occasions.size, 1 + ruleScopes.length * 3 + 1 + 3);
});

t.test('while quotas are off, everything is allowed', async () => {
  const law = fc.property(anyWorld, subject, (world, what) => {
    const off = { ...world, settings: { ...world.settings, enabled: false } };
    const { allowed, limit: most, group, rule: name } = decide(questionIn(off, what));
    deepStrictEqual({ allowed, most, group, name }, { allowed: true, most: -1, group: null, name: null });
  });
  fc.assert(law, { numRuns: 100 });
});

t.test('an explanation names the rule that decides, and no other', async () => {
  const law = fc.property(anyWorld, subject, (world, what) => {
    const { decision, bounds = [], steps } = explain(questionIn(world, what));
    const named = [...bounds, ...steps.flatMap(({ groups }) => groups.flatMap(({ rules }) => rules))]
      .filter(({ decided }) => decided)
      .map(({ rule: name, used, limit: most, verdict }) => ({ name, used, most, verdict }));
    const { allowed, used, limit: most, rule: name, grace } = decision;
    const allowing = grace === undefined ? 'allows' : 'graced';
    const verdict = allowed ? allowing : 'refuses';
    deepStrictEqual(named, decision.by === 'rule' ? [{ name, used, most, verdict }] : []);
  });
  fc.assert(law, { numRuns: worlds });
});

t.test('a file that matters is as large as those that are looked at', async () => {
  const law = fc.property(anyWorld, subject, (world, what) => {
    const decision = decide(questionIn(world, what));
    const all = [decision, decision.reported, decision.warned, ...(decision.near ?? [])];
    if (all.every(each => each?.per !== 'file')) return true;
    const least = leastFileBytes({ settings: world.settings, standing: standingOf(world) }, what);
    return least !== null && world.fileBytes !== null && world.fileBytes > least;
  });
  fc.assert(law, { numRuns: worlds });
});
