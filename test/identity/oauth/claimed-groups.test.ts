import fc from 'fast-check';
import t from 'tap';
import { administrationBy, type Claims, synchronize } from '../../../src/identity/oauth/claims.ts';
import { mappingIn } from '../../../src/wire/index.ts';

const rules = {
  groupClaim: 'groups',
  mapping: [
    ['staff', ['gold', 'silver']],
    ['guests', ['bronze']],
  ],
  removal: true,
  missingClaim: 'remove',
} as const;

const everything = () => true;

/** Claims as a provider sends them: `__proto__` is a name like any other there. */
function claimsIn(json: string): Claims {
  return JSON.parse(json);
}

t.test('an absent claim changes nothing where it is to be kept, but an empty one does', async t => {
  const keeping = { ...rules, missingClaim: 'keep' } as const;
  const absent = synchronize(keeping, { sub: '1' }, ['gold'], everything);
  t.match(absent, { outcome: 'kept', groups: ['gold'], added: [], removed: [] });
  for (const groups of ['', [], null, ' , ']) {
    t.match(synchronize(keeping, { groups }, ['gold'], everything), {
      outcome: 'synchronized',
      removed: ['gold'],
    });
  }
});

t.test('a provider that has too many groups to name them changes nothing, whatever else it says', async t => {
  const markers = ['{"groups":"src1"}', '"groups"', '["groups"]', 'true'];
  for (const marker of markers) {
    const claims = claimsIn(`{"groups":["guests"],"_claim_names":${marker}}`);
    t.match(synchronize(rules, claims, ['gold'], everything), {
      outcome: 'overage',
      groups: ['gold'],
      added: [],
      removed: [],
    });
  }
  for (const marker of ['{}', '{"address":"src1"}', 'null']) {
    const claims = claimsIn(`{"groups":["guests"],"_claim_names":${marker}}`);
    t.equal(synchronize(rules, claims, [], everything).outcome, 'synchronized', marker);
  }
});

t.test('a source that names no claim changes nothing', async t => {
  const off = synchronize({ ...rules, groupClaim: null }, { groups: [] }, ['gold'], everything);
  t.match(off, { outcome: 'off', groups: ['gold'], removed: [] });
});

t.test('a mapped quota group that there is not is skipped, and said', async t => {
  const done = synchronize(rules, { groups: 'staff' }, [], group => group !== 'silver');
  t.match(done, { groups: ['gold'], added: ['gold'], skipped: ['silver'] });
});

t.test('what is no name is ignored, with its place', async t => {
  const groups = ['staff', null, { a: 1 }, ['guests'], 7, false, '', 2 ** 60];
  const { ignored, claimed } = synchronize(rules, { groups }, [], everything);
  t.same(claimed, ['staff', '7', 'false']);
  t.same(ignored, [
    'groups: number 2 of the list: expected a name, and it is null',
    'groups: number 3 of the list: expected a name, and it is an object',
    'groups: number 4 of the list: expected a name, and it is a list',
    'groups: number 8 of the list: expected a name, and it is a number too large to be read exactly',
  ]);
  const many = synchronize(rules, { groups: Array(5000).fill(null) }, [], everything);
  t.equal(many.ignored.length, 11);
  t.match(many.ignored.at(-1), /4990 more/);
});

t.test('a claim within objects is found by its path, unless one has that very name', async t => {
  const claims = {
    realm_access: { roles: ['staff'] },
    resource_access: { 'git.example': { roles: ['guests'] } },
    'flat.roles': 'staff',
    flat: { roles: ['guests'] },
  };
  for (const [groupClaim, claimed] of [
    ['realm_access.roles', ['staff']],
    ['resource_access.git.example.roles', ['guests']],
    ['flat.roles', ['staff']],
    ['realm_access.groups', []],
    ['realm_access.roles.0', []],
    ['realm_access.', []],
    ['realm_access.constructor.name', []],
  ] as const) {
    const done = synchronize({ ...rules, groupClaim }, claims, [], everything);
    t.same([done.claimed, done.ignored], [claimed, []], groupClaim);
  }
  const elsewhere = { ...claims, _claim_names: { realm_access: 'src1' } };
  const own = { ...rules, groupClaim: 'realm_access.roles' };
  t.equal(synchronize(own, elsewhere, ['gold'], everything).outcome, 'overage');
});

t.test('a claim that is not understood removes nobody', async t => {
  const source = { id: 1, adminClaim: 'groups', adminGroup: 'admins', missingClaim: 'remove' } as const;
  for (const groups of [{ roles: ['guests'] }, [{ name: 'staff' }], ['guests', { name: 'staff' }], 2 ** 60]) {
    const done = synchronize(rules, { groups }, ['gold'], everything);
    t.match(done, { outcome: 'synchronized', ignored: [/^groups: /] });
    t.same(done.removed, []);
    t.equal(administrationBy(source, { groups }, { isAdmin: true, by: source.id }), 'unchanged');
  }
  const [why] = synchronize(rules, { groups: { roles: [] } }, [], everything).ignored;
  t.match(why, /it is an object; a claim within it is named with a dot, as in groups\.roles$/);
  t.equal(administrationBy(source, { groups: [] }, { isAdmin: true, by: source.id }), 'ended');
});

t.test('names such as __proto__ and constructor are names like any other', async t => {
  const mapped = mappingIn('{"__proto__":["gold"],"constructor":["__proto__"]}');
  if (!mapped.ok) throw new Error('it is a mapping');
  const own = { ...rules, mapping: mapped.mapping };
  const both = synchronize(own, { groups: ['__proto__', 'constructor'] }, [], everything);
  t.same(both.groups, ['__proto__', 'gold']);
  t.same(synchronize({ ...own, groupClaim: '__proto__' }, {}, [], everything).claimed, []);
  t.same(synchronize({ ...own, groupClaim: 'constructor' }, {}, ['gold'], everything).removed, ['gold']);
  for (const groupClaim of ['__proto__', 'constructor']) {
    const kept = synchronize({ ...own, groupClaim, missingClaim: 'keep' }, {}, ['gold'], everything);
    t.match(
      kept,
      { outcome: 'kept', groups: ['gold'], ignored: [] },
      'which nobody has unless it is claimed',
    );
  }
  const claims = claimsIn('{"__proto__":["constructor"]}');
  t.same(synchronize({ ...own, groupClaim: '__proto__' }, claims, [], everything).added, ['__proto__']);
});

t.test('a fault of a mapping is told with its place', async t => {
  const faultsOf = (value: unknown) => {
    const mapped = mappingIn(value);
    return mapped.ok ? [] : mapped.faults;
  };
  t.same(faultsOf({ staff: ['gold', 7], guests: 'bronze' }), [
    'at "staff", number 2 of the list: expected the name of a quota group, and it is a number',
    'at "guests": expected a list of quota groups, and it is a text',
  ]);
  t.match(faultsOf('{"staff":["gold"],}'), [/position 18/]);
  t.match(faultsOf('["gold"]'), [/expected an object .* it is a list/]);
  t.match(faultsOf(null), [/it is null/]);
  t.same(faultsOf(''), []);
});

t.test('ten thousand groups at the provider are no burden', async t => {
  const names = Array.from({ length: 10_000 }, (_, index) => `group ${index}`);
  const mapping = names.map(name => [name, [`quota ${name}`]] as const);
  const before = process.cpuUsage();
  const done = synchronize(
    { ...rules, mapping },
    { groups: names.slice(5000) },
    names.map(name => `quota ${name}`),
    everything,
  );
  t.equal(done.removed.length, 5000);
  t.equal(
    synchronize({ ...rules, mapping }, { groups: names.join(',') }, [], everything).added.length,
    10_000,
  );
  // A hundred times of what it takes: what grows with the square would take far longer.
  const { user } = process.cpuUsage(before);
  t.ok(user < 5_000_000, `${user} µs`);
});

const name = fc.constantFrom<string>('a', 'b', 'c', '__proto__', 'x,y', 'toString', ' d');
const group = fc.constantFrom<string>('gold', 'silver', 'bronze', 'manual', '__proto__');
const anyRules = fc.record({
  groupClaim: fc.constant('groups'),
  mapping: fc.array(fc.tuple(name, fc.array(group))),
  removal: fc.boolean(),
  missingClaim: fc.constantFrom('remove' as const, 'keep' as const),
});
const anyClaims = fc.oneof(
  fc.record({ groups: fc.oneof(fc.array(name), name, fc.jsonValue()) }),
  fc.dictionary(fc.string(), fc.jsonValue()),
);
const someGroups = fc.uniqueArray(group);

t.test('laws of every synchronization', async () => {
  fc.assert(
    fc.property(anyRules, anyClaims, someGroups, someGroups, (anyRule, claims, current, existing) => {
      const exists = (one: string) => existing.includes(one) || current.includes(one);
      const done = synchronize(anyRule, claims, current, exists);
      const named = new Set(anyRule.mapping.flatMap(([, groups]) => groups));
      const outside = (groups: readonly string[]) => groups.filter(one => !named.has(one)).sort();
      const { groups } = done;
      return (
        // Groups that the mapping does not name are never touched.
        JSON.stringify(outside(groups)) === JSON.stringify(outside(current)) &&
        // Nobody comes into a group that there is not, and nobody goes unless removal is on.
        done.added.every(exists) &&
        (anyRule.removal || done.removed.length === 0) &&
        // Doing it again changes nothing.
        JSON.stringify(synchronize(anyRule, claims, groups, exists).groups) === JSON.stringify(groups) &&
        // With removal on, what is left of the mapping does not depend on what was there, if all is understood.
        (!anyRule.removal ||
          done.outcome !== 'synchronized' ||
          done.ignored.length > 0 ||
          groups
            .filter(one => named.has(one))
            .every(one =>
              anyRule.mapping.some(([from, to]) => done.claimed.includes(from) && to.includes(one)),
            ))
      );
    }),
  );
});

t.test('a text with commas says the same as the list of its names', async () => {
  const plain = fc.string({ minLength: 1 }).filter(text => !text.includes(',') && text.trim() === text);
  fc.assert(
    fc.property(fc.array(plain), fc.constantFrom(',', ' , ', ',  '), (names, comma) => {
      const claimed = (groups: unknown) => synchronize(rules, { groups }, [], everything).claimed;
      return claimed(names.join(comma)).join() === claimed(names).join();
    }),
  );
});
