/** On random policies with all that a rule can limit, `decide` says what the sentences of docs/policy.md say. */

import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import {
  bytesUnder,
  compileGroup,
  type Decision,
  decide,
  type GraceMost,
  type Group,
  leafMask,
  leaves,
  type QuotaSettings,
  type Rule,
  ruleModes,
  ruleScopes,
  type Standing,
  type Subject,
  standingIn,
  subjects,
  type Usage,
} from '../../src/quota/index.ts';
import { isLong } from '../run-length.ts';
import { adding, limit, settings, subject, usage } from './arbitraries.ts';
import { type Begun, decideBySentences, type ModelAnswer, type Stock, type World } from './sentences.ts';

/** Worlds; each is asked about every subject. */
const worlds = isLong ? 20_000 : 700;
const now = 100;
const ruleNames = ['a', 'b', 'c', 'd', 'e', 'é'] as const;
const groupNames = ['p', 'q', 'r', 's'] as const;

const graceMs = fc.constantFrom(0, 10, 40);
const graceMost: fc.Arbitrary<GraceMost> = fc.oneof(
  fc.record({ bytes: fc.nat(30) }),
  fc.record({ percent: fc.integer({ min: 1, max: 60 }) }),
);

const bytesOfLimit = fc.oneof(
  { weight: 2, arbitrary: limit },
  { weight: 1, arbitrary: fc.constant(-1) },
  { weight: 4, arbitrary: fc.nat(400) },
);

const terms = {
  name: fc.constantFrom(...ruleNames),
  limitBytes: bytesOfLimit,
  subjects: fc.oneof(
    fc.constantFrom(['size:all' as const], ['none' as const], ['size:git:all' as const]),
    fc.array(subject, { maxLength: 3 }),
  ),
  per: fc.constantFrom('group' as const, 'repository' as const, 'push' as const, 'file' as const),
  graceMs,
  graceMost,
};

/** A push and a file have neither a limit of 0 nor a grace. */
const rule: fc.Arbitrary<Rule> = fc
  .oneof(
    { weight: 3, arbitrary: fc.record(terms, { requiredKeys: ['name', 'limitBytes', 'subjects'] }) },
    {
      weight: 1,
      arbitrary: fc.record(
        { ...terms, mode: fc.constantFrom(...ruleModes) },
        { requiredKeys: ['name', 'limitBytes', 'subjects', 'mode'] },
      ),
    },
  )
  .map(one => {
    if (one.per !== 'push' && one.per !== 'file') return one;
    const { graceMs: _ms, graceMost: _most, ...bound } = one;
    return { ...bound, limitBytes: one.limitBytes === 0 ? 7 : one.limitBytes };
  });

/** Groups with some of these rules each, so that a rule may be in several. */
const policy = fc
  .record({
    rules: fc.uniqueArray(rule, { maxLength: 6, selector: ({ name }) => name }),
    chosen: fc.array(fc.nat(63), { minLength: groupNames.length, maxLength: groupNames.length }),
    assigned: fc.shuffledSubarray([...groupNames]),
    defaults: fc.shuffledSubarray([...groupNames]),
  })
  .map(({ rules, chosen, assigned, defaults }) => {
    const group = (name: (typeof groupNames)[number]): Group => {
      const mask = chosen[groupNames.indexOf(name)] ?? 0;
      return { name, rules: rules.filter((_, at) => (mask & (1 << at)) !== 0) };
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
      since: fc.integer({ min: 50, max: now }),
      isReported: fc.constant(false),
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
      graceMs: fc.option(graceMs),
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
  const all = { assigned: assigned.map(compileGroup), defaults: defaults.map(compileGroup) };
  const isPlain = [...assigned, ...defaults].every(({ rules }) =>
    rules.every(({ mode, per }) => mode === undefined && per === undefined),
  );
  const { allowanceBytes: bytes } = world;
  return {
    ...(isPlain ? all : standingIn(all)),
    allowance: bytes === 0 ? null : { bytes, count: 1, until: 1000 },
    graces: { now, begun: world.begun },
  };
}

function decided(world: World, what: Subject): Decision {
  const { owner, others, repository, pushBytes, fileBytes } = world;
  return decide({
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
  });
}

function inShort(decision: Decision): ModelAnswer {
  const { allowed, step, group, rule: name, per = 'owner', used, limit: most } = decision;
  return { allowed, step: step ?? 'builtin', group, rule: name, per, used, limit: most };
}

/** The part of a pool that is the member's own; the repository; the file. */
function details({ share, unit, file }: Decision, { settings: { garbage } }: World) {
  return { share: garbage === 'forgive' ? undefined : share, unit, file: file?.bytes };
}

function expectedDetails({ assigned, owner, repository, settings: { garbage } }: World, answer: ModelAnswer) {
  const { per, group, used } = answer;
  const pool = assigned.find(({ name }) => name === group)?.rules.find(({ name }) => name === answer.rule);
  const counts = pool?.subjects.reduce((mask, named) => mask | leafMask(named), 0) ?? 0;
  const own = together([owner]);
  const reserved = own.reserved.reduce(
    (sum, { mask, bytes }) => sum + ((mask & counts) === 0 ? 0 : bytes),
    0,
  );
  return {
    share: per === 'group' && garbage !== 'forgive' ? bytesUnder(own.usage, counts) + reserved : undefined,
    unit: per === 'repository' ? repository?.name : undefined,
    file: per === 'file' ? used : undefined,
  };
}

t.test('decisions are those of the sentences', async t => {
  let decisions = 0;
  const occasions = new Map<string, number>();
  const see = (occasion: string) => occasions.set(occasion, (occasions.get(occasion) ?? 0) + 1);
  const law = fc.property(anyWorld, world => {
    for (const what of subjects) {
      const { reported, warned, unasked, ...answer } = decideBySentences(world, what);
      const decision = decided(world, what);
      const shown = {
        ...inShort(decision),
        ...details(decision, world),
        reported:
          decision.reported === undefined || decision.reported.allowed ? null : inShort(decision.reported),
        warned: decision.warned === undefined ? null : inShort(decision.warned),
        unasked: decision.unasked ?? [],
      };
      deepStrictEqual(
        shown,
        { ...answer, ...expectedDetails(world, answer), reported, warned, unasked },
        what,
      );
      see(`${answer.allowed ? 'allowed' : 'refused'} by ${answer.per}`);
      if (reported !== null) see(`reported by ${reported.per}`);
      if (warned !== null) see(`warned by ${warned.per}`);
      for (const per of unasked) see(`not told by ${per}`);
      decisions++;
    }
  });
  fc.assert(law, { numRuns: worlds });
  t.comment(`${decisions} decisions`, Object.fromEntries(occasions));
  // In a short run, one that is rare may be missing.
  if (isLong) t.equal(occasions.size, 1 + 3 * ruleScopes.length + 3);
});

t.test('while quotas are off, everything is allowed', async () => {
  const law = fc.property(anyWorld, subject, ({ settings: by, ...world }, what) => {
    const {
      allowed,
      limit: most,
      group,
      rule: name,
    } = decided({ ...world, settings: { ...by, enabled: false } }, what);
    deepStrictEqual({ allowed, most, group, name }, { allowed: true, most: -1, group: null, name: null });
  });
  fc.assert(law, { numRuns: 100 });
});
