/** The list of what owners use: every order, every search, every page. */

import t from 'tap';
import { z } from 'zod';
import { leaves, subjects } from '../../src/quota/index.ts';
import { type OwnerRow, ownerReport, ownerRow } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { apply } from './any-policy.ts';
import { measure, repository } from './people.ts';
import { type Answer, World } from './world.ts';

const path = '/admin/quota/usage';
const sorts = ['name', 'total', 'percent', ...leaves] as const;

function rowsIn(answer: Answer): readonly OwnerRow[] {
  return z.array(ownerRow).parse(answer.json);
}

async function list(world: World, query = ''): Promise<readonly OwnerRow[]> {
  return rowsIn(await world.must(200, 'GET', `${path}${query}`));
}

const namesOf = (rows: readonly OwnerRow[]) => rows.map(({ name }) => name);

/** Owners with ties in everything; bob has a limit, and frank may store nothing. */
async function peopled(world: World): Promise<void> {
  for (const [owner, subject, bytes] of [
    ['alice', 'size:git:lfs', 50],
    ['alice', 'size:assets:packages:all', 5],
    ['bob', 'size:git:lfs', 55],
    ['dave', 'size:repos:private', 7],
    ['dave', 'size:repos:public', 3],
    ['dave', 'size:assets:wiki', 1],
    ['Erin', 'size:git:lfs', 50],
    ['Erin', 'size:assets:artifacts', 5],
    ['frank', 'size:assets:attachments:issues', 1],
    ['frank', 'size:assets:attachments:releases', 2],
    ['gr%/ä é', 'size:git:lfs', 10],
  ] as const) {
    await world.report(owner, subject, bytes);
  }
  await apply(world, {
    rules: [
      { name: 'hundred', limit: 100, subjects: ['size:all'] },
      { name: 'nothing', limit: 0, subjects: ['size:all'] },
      { name: 'tiny', limit: 10, subjects: ['size:all'] },
    ],
    groups: [
      { name: 'free', rules: ['hundred'], users: ['alice', 'bob', 'Erin'] },
      { name: 'locked', rules: ['nothing'], users: ['frank', 'carol'] },
      { name: 'small', rules: ['tiny'], users: ['dave'] },
    ],
  });
}

/** For those who only look. */
const world = await World.open(t);
await peopled(world);

/** The number that a row is sorted by, from what it shows. */
function rank({ tree, total, percent, limit, used }: OwnerRow, sort: (typeof sorts)[number]): number {
  if (sort === 'name') return 0;
  if (sort === 'total') return total;
  if (sort === 'percent') {
    return limit === 0 && used !== null && used > 0 ? Number.MAX_VALUE : (percent ?? -1);
  }
  const steps = sort.replace('lfs', 'LFS').split(':');
  return Number(steps.reduce<unknown>((at, step) => Reflect.get(Object(at), step), tree));
}

t.test('a row shows what an owner stores by kind, the deciding limit, and how much is used', async t => {
  const rows = await list(world);
  t.equal(rows.length, 9, 'with admin1 and acme, who store nothing');
  const of = (owner: string) => rows.find(({ name }) => name === owner);
  t.match(of('alice'), {
    type: 'user',
    tree: { size: { git: { LFS: 50 }, assets: { packages: { all: 5 }, wiki: 0 } } },
    total: 55,
    used: 55,
    limit: 100,
    percent: 55,
    group: 'free',
    rule: 'hundred',
    allowed: true,
  });
  t.match(of('dave'), { total: 11, limit: 10, percent: 110, allowed: false });
  t.match(of('frank'), { total: 3, limit: 0, percent: null, allowed: false });
  t.match(of('carol'), { total: 0, limit: 0, percent: null, allowed: false });
  t.match(of('acme'), {
    type: 'organization',
    total: 0,
    limit: -1,
    percent: null,
    group: null,
    allowed: true,
  });
  for (const row of rows) {
    const { json } = await world.gate(
      'GET',
      `/v1/check?owner=${encodeURIComponent(row.name)}&subject=size:all`,
    );
    const { allowed, used, limit, group, rule } = row;
    t.match(json, { allowed, used, limit, group, rule }, `the gate says the same of ${row.name}`);
  }
});

t.test('every order and every page shows the same owners; equal ones stand by name', async t => {
  // The first sweep says when everybody was measured.
  const isMeasured = (owners: readonly OwnerRow[]) =>
    owners.every(({ measured_at: measuredAt }) => measuredAt !== null);
  await until(async () => (isMeasured(await list(world, '')) ? true : null));
  const all = await list(world, '?limit=1000');
  for (const sort of sorts) {
    for (const order of ['asc', 'desc', undefined] as const) {
      const isRising = (order ?? (sort === 'name' ? 'asc' : 'desc')) === 'asc';
      const sign = isRising ? 1 : -1;
      const expected = all.toSorted((a, b) => {
        const byName = a.name < b.name ? -1 : Number(a.name > b.name);
        return (rank(a, sort) - rank(b, sort)) * sign || (sort === 'name' ? byName * sign : byName);
      });
      const asked = `?sort=${sort}${order === undefined ? '' : `&order=${order}`}`;
      t.strictSame(await list(world, asked), expected, asked);
      for (const limit of [1, 4, 9]) {
        const pages: OwnerRow[] = [];
        for (let page = 1; page <= Math.ceil(all.length / limit); page++) {
          pages.push(...(await list(world, `${asked}&page=${page}&limit=${limit}`)));
        }
        t.strictSame(namesOf(pages), namesOf(expected), `${asked} by ${limit}`);
      }
    }
  }
});

t.test('the state of an owner is that of the worst kind of data, wherever it is shown', async t => {
  const world = await World.open(t);
  await world.report('lena', 'size:git:lfs', 120);
  await world.report('lena', 'size:repos:private', 1);
  await world.report('nora', 'size:assets:packages:all', 85);
  await world.report('olga', 'size:git:lfs', 10);
  await world.report('petra', 'size:git:lfs', 10);
  await apply(world, {
    rules: [
      { name: 'all', limit: 1000, subjects: ['size:all'] },
      { name: 'hundred', limit: 100, subjects: ['size:git:lfs'] },
      { name: 'packages', limit: 100, subjects: ['size:assets:packages:all'] },
      { name: 'none', limit: 0, subjects: ['size:assets:wiki'] },
    ],
    groups: [
      {
        name: 'team',
        rules: ['all', 'hundred', 'packages', 'none'],
        users: ['lena', 'nora', 'olga', 'acme'],
      },
    ],
  });
  const states = async (query: string) =>
    (await list(world, `?sort=name&${query}`)).map(({ name, state, subject }) => [name, state, subject]);
  t.strictSame(await states('state=over'), [['lena', 'over', 'size:git:lfs']]);
  t.strictSame(await states('state=near'), [['nora', 'near', 'size:assets:packages:all']]);
  t.strictSame(await states('state=near,over'), [
    ['lena', 'over', 'size:git:lfs'],
    ['nora', 'near', 'size:assets:packages:all'],
  ]);
  t.strictSame(await states('state=ok&group=team'), [
    ['acme', 'ok', 'size:all'],
    ['olga', 'ok', 'size:git:lfs'],
  ]);
  t.strictSame(await states('type=organization'), [['acme', 'ok', 'size:all']]);
  const [lena, nora] = await list(world, '?sort=percent');
  t.match(lena, { name: 'lena', allowed: false, used: 120, limit: 100, percent: 120, rule: 'hundred' });
  t.match(nora, { name: 'nora', allowed: true, percent: 85 });
  const overview = await world.must(200, 'GET', '/admin/quota/overview');
  t.match(overview.json, { owners: { over: 1, near: 1 } }, 'the overview counts those whom the list shows');
  for (const name of ['lena', 'nora', 'olga', 'petra', 'acme']) {
    const report = ownerReport.parse(await world.get(`${path}/${name}`));
    const [row] = await list(world, `?q=${name}`);
    t.equal(report.state, row?.state, name);
    const ofKinds = leaves.map(leaf => report.decisions[leaf]?.state);
    const worst = ofKinds.find(state => state === 'over') ?? ofKinds.find(state => state === 'near');
    t.equal(worst ?? 'ok', row?.state);
    t.match(report.decisions[report.subject], {
      used: report.used,
      limit: report.limit,
      state: report.state,
    });
  }
  const { link } = (await world.must(200, 'GET', `${path}?state=near,over&group=team&limit=1`)).headers;
  t.match(String(link), /state=near%2Cover&group=team/, 'the next page is of the same owners');
  await world.must(404, 'GET', `${path}?group=nothere`);
});

t.test('a percentage of the limit is exact in each row, and in the order by it', async t => {
  const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '10 GB' } } });
  await world.report('bob', 'size:git:lfs', 2_900_000_000);
  await world.report('alice', 'size:git:lfs', 2_890_000_000);
  const rows = await list(world, '?sort=percent&limit=2');
  t.strictSame(
    rows.map(({ name, percent }) => [name, percent]),
    [
      ['bob', 29],
      ['alice', 28],
    ],
  );
});

t.test('a default group is also that of owners who are in none', async t => {
  const world = await World.open(t, { settings: { quota: { ENABLED: 'true', DEFAULT_GROUPS: 'free' } } });
  await peopled(world);
  const names = namesOf(await list(world, '?sort=name&group=free'));
  t.strictSame(names, ['Erin', 'acme', 'admin1', 'alice', 'bob', 'gr%/ä é']);
});

t.test('the list as CSV has a line for each owner, and no name becomes a formula', async t => {
  const world = await World.open(t);
  await peopled(world);
  await world.report('=1+1', 'size:git:lfs', 3);
  await world.report('a,"b"', 'size:git:lfs', 2);
  const { text, headers } = await world.must(200, 'GET', '/admin/quota/usage.csv?sort=name');
  t.match(headers, { 'content-type': 'text/csv; charset=utf-8' });
  const [head, ...lines] = text.split('\r\n');
  t.match(
    head,
    /^owner,type,state,stored,size:repos:public,.*,percent,group,rule,measured_at,partial,stale$/,
  );
  t.equal(lines.pop(), '');
  t.equal(lines.length, 11);
  t.match(lines[0], /^"'=1\+1",user,ok,3,/);
  t.match(text, '"a,""b""",user,ok,2,');
  t.match(text, /Erin,user,ok,55,0,0,50,0,0,5,0,0,size:all,55,100,55,free,hundred,/);
  const over = await world.must(200, 'GET', '/admin/quota/usage.csv?state=over&sort=name');
  t.strictSame(
    over.text.split('\r\n').map(line => line.split(',')[0]),
    ['owner', 'dave', 'frank', ''],
  );
  t.equal((await world.must(200, 'HEAD', '/admin/quota/usage.csv')).text, '');
});

t.test('a search finds parts of names as names compare', async t => {
  const found = async (q: string) => namesOf(await list(world, `?sort=name&q=${encodeURIComponent(q)}`));
  t.strictSame(await found('E'), ['Erin', 'acme', 'alice', 'dave']);
  t.strictSame(await found('RIN'), ['Erin']);
  t.strictSame(await found('%/ä'), ['gr%/ä é']);
  t.strictSame(await found('a\u0308'), ['gr%/ä é'], 'however it is composed');
  t.strictSame(await found('.*'), []);
  t.equal((await found('')).length, 9);
  const answer = await world.must(200, 'GET', `${path}?q=a&limit=1`);
  t.equal(answer.headers['x-total-count'], '6', 'of those found');
});

/** The page that each relation leads to, with the addresses below /api/v1. */
function links({ headers }: Answer): Readonly<Record<string, string>> {
  const found = String(headers.link ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g);
  return Object.fromEntries(
    [...found].map(([, address = '', relation = '']) => [relation, address.replace(/^.*\/api\/v1/, '')]),
  );
}

t.test('Link leads to the first, previous, next and last page, as far as there are such', async t => {
  const relations = async (query: string) => {
    const answer = await world.must(200, 'GET', `${path}?${query}`);
    t.equal(answer.headers['x-total-count'], '9');
    const page = (address: string) => Number(new URL(address, 'http://x').searchParams.get('page'));
    return Object.fromEntries(Object.entries(links(answer)).map(([relation, to]) => [relation, page(to)]));
  };
  t.strictSame(await relations('limit=9'), {});
  t.strictSame(await relations('limit=4'), { next: 2, last: 3 });
  t.strictSame(await relations('limit=4&page=2'), { first: 1, prev: 1, next: 3, last: 3 });
  t.strictSame(await relations('limit=4&page=3'), { first: 1, prev: 2 });
  t.strictSame(await relations('limit=4&page=9'), { first: 1, prev: 3 }, 'back to where there is something');
  t.strictSame(await list(world, '?limit=4&page=9'), []);
  t.strictSame(await list(world, '?limit=1000&page=9007199254740991'), []);
  const seen: string[] = [];
  let next: string | undefined = `${path}?sort=size:git:lfs&order=asc&q=a&limit=3`;
  while (next !== undefined) {
    const answer: Answer = await world.must(200, 'GET', next);
    seen.push(...namesOf(rowsIn(answer)));
    next = links(answer).next;
  }
  t.strictSame(
    seen,
    namesOf(await list(world, '?sort=size:git:lfs&order=asc&q=a')),
    'with all that was asked for',
  );
});

t.test('Link has what the route knows, once, however often the request has it', async t => {
  const asked = `/admin/users?limit=1${'&q=a'.repeat(3000)}&none=1`;
  const answer = await world.must(200, 'GET', asked);
  t.equal(links(answer).next, '/admin/users?q=a&page=2&limit=1');
});

t.test('of one owner every unit is told, largest first, and the decision about every kind', async t => {
  const world = await World.open(t);
  const small = repository(world, 'dave/app');
  await world.report('dave', 'size:git:lfs', 5000, 'store');
  await measure(world);
  const report = ownerReport.parse(await world.get(`${path}/DAVE`));
  t.match(report, { name: 'dave', known: true, partial: false, stale: false });
  t.match(report.units, [
    { name: 'store', kind: 'reported', subject: 'size:git:lfs', bytes: 5000 },
    { name: small, kind: 'walked', subject: 'size:repos:private', bytes: 21, files: 1, partial: false },
  ]);
  t.equal(report.total, 5021);
  t.strictSame(Object.keys(report.decisions), subjects);
  const nobody = ownerReport.parse(await world.get(`${path}/a%2F%C3%A9`));
  t.match(nobody, { name: 'a/é', known: false, units: [], total: 0, allowed: true });
  await world.must(404, 'GET', '/admin/users/a%2F%C3%A9');
});

t.test('what no rule covers is over the limit if UNCOVERED = deny refuses it and it is stored', async t => {
  const world = await World.open(t, { settings: { quota: { ENABLED: 'true', UNCOVERED: 'deny' } } });
  await peopled(world);
  await world.post('/admin/quota/rules', { name: 'lfs', limit: 9, subjects: ['size:git:lfs'] });
  await world.post('/admin/quota/groups', { name: 'few', rules: [{ name: 'lfs' }] });
  await world.post('/admin/users/frank/quota/groups', { groups: ['few'] });
  await world.post('/admin/users/carol/quota/groups', { groups: ['few'] });
  t.match(await list(world, '?q=frank'), [{ state: 'over', allowed: false, used: null, limit: null }]);
  t.match(await list(world, '?q=carol'), [{ state: 'ok', allowed: true, used: 0, limit: 9 }]);
});
