/** Units and owners come out as they were written, whatever is in them, and damage is told. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { leaves } from '../../src/quota/index.ts';
import { type OwnerRecord, openStore, type UnitRecord } from '../../src/store/index.ts';
import { unitsIn } from './model.ts';
import { event, owner, unit } from './records.ts';

/** More than come in one message, several times over. */
const many = 9000;

const spellings = ['alice', 'Bob', 'zoë', '\ufeffbom', '日本', 'a "quoted" one', 'tab\t'];

function usualUnit(at: number): UnitRecord {
  const name = spellings[Math.floor(at / 5) % spellings.length] ?? '';
  const leaf = leaves[at % leaves.length] ?? leaves[0];
  const reach = at % 3 === 0 ? { reach: { reachableBytes: at, unreachableBytes: at + 1 } } : {};
  const common = { leaf, owner: name, bytes: at * 1e9, files: at, seq: at, partial: at % 7 === 0, ...reach };
  if (at % 2 === 0) {
    const found = at % 10 === 0 ? null : name;
    return unit(`/srv/${String(at).padStart(5, '0')}/ü.git`, { ...common, owner: found, measuredAt: -at });
  }
  const reported = `${name}-${at}`;
  return unit(`${name}\0${leaf}\0${reported}`, { ...common, kind: 'reported', name: reported });
}

const oddUnits: Readonly<Record<string, Partial<UnitRecord>>> = {
  'a path that is not UTF-8': { id: '/srv/\udcff', name: '/srv/\udcff' },
  'an owner who is not UTF-8': { owner: 'al\udcffice' },
  'an owner with a NUL': { owner: 'al\0ice' },
  'the unit of another host': { host: 'host-2' },
  'a name that its id does not say': { name: 'another' },
  'a reported unit of nobody': { kind: 'reported', owner: null },
  'an empty id': { id: '', name: '' },
};

async function open(t: Test) {
  const file = join(t.testdir(), 'store.db');
  const store = await openStore({ file });
  t.teardown(() => store.close());
  return { file, store };
}

const byId = (a: UnitRecord, b: UnitRecord) => (a.id < b.id ? -1 : Number(a.id > b.id));
const byKey = (a: OwnerRecord, b: OwnerRecord) => (a.key < b.key ? -1 : Number(a.key > b.key));

t.test('units come out as they went in, whatever is among them', async t => {
  const { store } = await open(t);
  const units = Array.from({ length: many }, (_, at) => usualUnit(at));
  await store.write({ units });
  t.strictSame((await unitsIn(store)).toSorted(byId), units.toSorted(byId), 'usual ones');
  for (const [what, differing] of Object.entries(oddUnits)) {
    const odd = unit('/srv/04000/odd.git', differing);
    await store.write({ units: [odd] });
    t.strictSame((await unitsIn(store)).toSorted(byId), [...units, odd].toSorted(byId), what);
    await store.write({ goneUnits: [odd.id] });
  }
});

t.test('owners come out as they went in, whatever is among them', async t => {
  const { store } = await open(t);
  const owners = Array.from({ length: many }, (_, at) => {
    const key = `${spellings[at % spellings.length]}-${at}`;
    return owner(key, { id: 2 ** 52 + at, name: at % 3 === 0 ? key.toUpperCase() : key, since: -at });
  });
  const more = [...owners, owner('an organization', { type: 'organization' })];
  for (const key of ['', 'al\0ice', 'al\udcffice', '\ufffd', '\\u0000']) more.push(owner(key));
  more.push(owner('odd', { name: 'o\udcffd' }));
  await store.write({ owners });
  t.strictSame((await store.load()).owners.toSorted(byKey), owners.toSorted(byKey), 'usual ones');
  await store.write({ owners: more });
  t.strictSame((await store.load()).owners.toSorted(byKey), more.toSorted(byKey), 'odd ones among them');
});

const damages: Readonly<Record<string, { readonly sql: string; readonly says: RegExp }>> = {
  'two ids that are a text only together': {
    sql: "UPDATE units SET id = x'2fc3' WHERE id = x'2f61'; UPDATE units SET id = x'a9' WHERE id = x'2f62'",
    says: /units cannot be read.*id is no text/,
  },
  'two owners who are a text only together': {
    sql: "UPDATE units SET owner = x'c3' WHERE id = x'2f61'; UPDATE units SET owner = x'a9' WHERE id = x'2f62'",
    says: /units cannot be read.*owner is no text/,
  },
};

for (const [damage, { sql, says }] of Object.entries(damages)) {
  t.test(`${damage}: damage is told`, async t => {
    const { file, store } = await open(t);
    await store.write({ units: [unit('/a'), unit('/b')] });
    await store.close();
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
    const again = await openStore({ file });
    t.teardown(() => again.close());
    await t.rejects(unitsIn(again), { code: 'store_refused', message: says });
  });
}

/** Opens a store that has so many events of each kind, with ids such as `policy-0`, the oldest. */
async function openFilled(t: Test, counts: Readonly<Record<string, number>>) {
  const file = join(t.testdir(), 'store.db');
  await (await openStore({ file })).close();
  const db = new DatabaseSync(file);
  for (const [kind, count] of Object.entries(counts)) {
    db.exec(`WITH RECURSIVE n (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < ${count - 1})
      INSERT INTO events (id, kind, at, text)
        SELECT CAST('${kind}-' || at AS BLOB), CAST('${kind}' AS BLOB), at, CAST('{}' AS BLOB) FROM n`);
  }
  db.exec('VACUUM');
  db.close();
  const store = await openStore({ file });
  t.teardown(() => store.close());
  const has = async (kind: string) =>
    (await store.events({ kinds: [kind], limit: 9 })).map(({ id }) => id).join(' ');
  const oldest = async (kind: string) =>
    (await store.events({ kinds: [kind], limit: 9, after: { at: 4, id: '' } })).map(({ id }) => id).join(' ');
  return { store, has, oldest };
}

t.test('of 100,000 events the oldest refusals go first, and changes of policy last', async t => {
  const { store, has, oldest } = await openFilled(t, { policy: 79_998, threshold: 20_000, refusal: 4 });
  const policy = (id: string) => event(id, 1e6, { kind: 'policy' });
  await store.write({ events: [event('another', 3)] });
  t.equal(await has('refusal'), 'refusal-3 another');
  await store.write({ events: [policy('p'), policy('q')] });
  t.equal(await has('refusal'), '');
  await store.write({ events: [policy('r'), event('last', 1e6)] });
  t.equal(await has('refusal'), '', 'it would be the first to go');
  t.equal(await oldest('policy'), 'policy-3 policy-2 policy-1');
  t.equal(await oldest('threshold'), 'threshold-3 threshold-2 threshold-1 threshold-0');
  await store.write({ events: [policy('s'), event('t', 1e6, { kind: 'threshold' })] });
  t.equal(await oldest('policy'), 'policy-3 policy-2');
  t.equal(await oldest('threshold'), 'threshold-3 threshold-2 threshold-1');
});

t.test('a large import leaves room for 20,000 other events', async t => {
  const { store, has, oldest } = await openFilled(t, { policy: 100_000 });
  await store.write({ events: [event('r', 1e6), event('t', 1e6, { kind: 'threshold' })] });
  t.equal(await has('refusal'), 'r');
  t.equal(await has('threshold'), 't');
  t.equal(await oldest('policy'), 'policy-3 policy-2');
});
