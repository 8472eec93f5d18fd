/** Findings of doctor and /readyz about other hosts, sources and the worker. */

import t, { type Test } from 'tap';
import { findings, notes, notReady, type Observed } from '../../src/health/index.ts';
import { version } from '../../src/version.ts';
import { codes, fleet, idle, none, observed, toldOf } from './observed.ts';

const unsaid = { isParted: false, praefectStorage: null, readsForge: false };

t.test('a host that has been silent for more than a day is a notice, and how to forget it', async t => {
  const now = Date.parse('2026-11-21T09:00:00Z');
  const host = { ...unsaid, version: '1', seenAt: now - 86_400_001, isAlive: false, roots: [] };
  const hosts = [
    { ...host, host: 'gone' },
    { ...host, host: 'lately', seenAt: now - 86_300_000 },
    { ...host, host: 'here', isAlive: true },
  ];
  const advice = [{ code: 'no_append_only', message: 'it may forget', mend: 'appendonly yes' }] as const;
  const seen = await observed(t, { now, fleet: fleet({ advice, hosts }) });
  const told = toldOf(seen, 'host_silent', 'shared_store');
  t.match(told, [
    { severity: 'notice', message: 'it may forget', mend: 'appendonly yes' },
    {
      severity: 'notice',
      message: /^the host gone has sent nothing since 2026-11-20/,
      mend: /softquota host forget -- gone/,
    },
  ]);
  t.equal(told.length, 2);
  t.strictSame(notReady(seen), []);
});

t.test('a store that deletes quotas, and a clock that is wrong, are more than a notice', async t => {
  const mend = 'as it says';
  const advice = (['evicts', 'clock_differs', 'dropped_at_start'] as const).map(code => ({
    code,
    message: code,
    mend,
  }));
  const seen = await observed(t, { fleet: fleet({ advice }) });
  t.strictSame(
    findings(seen)
      .filter(({ mend: told }) => told === mend)
      .map(({ code, severity, message }) => `${severity} ${code}: ${message}`)
      .sort(),
    [
      'wrong host_clock: clock_differs',
      'wrong shared_store_loses: dropped_at_start',
      'wrong shared_store_loses: evicts',
    ],
  );
});

t.test('storage of several hosts is told that none of them walks, and that several walk', async t => {
  const now = Date.parse('2026-11-21T09:00:00Z');
  const host = { ...unsaid, version: '1', seenAt: now - 60_000, isAlive: true };
  const root = (source: string, isWalked: boolean, isOfNetwork = true) => ({ source, isWalked, isOfNetwork });
  const here = {
    ...host,
    host: 'here',
    roots: [
      root('nas:/a', false),
      root('nas:/b/git', false),
      root('nas:/c', true),
      root('nas:/d', false),
      root('/dev/vda1/srv', true, false),
    ],
  };
  const gone = { ...host, host: 'gone', isAlive: false, roots: [root('nas:/b', true)] };
  const other = {
    ...host,
    host: 'other',
    roots: [
      root('nas:/a', false),
      root('nas:/c', true),
      root('nas:/d', true),
      root('/dev/vda1/srv', true, false),
    ],
  };
  const hosts = [here, gone, other];
  const seen = await observed(t, { now, fleet: fleet({ hosts }) });
  t.match(toldOf(seen, 'shared_unwalked', 'shared_twice'), [
    {
      severity: 'wrong',
      message: 'no host walks nas:/a, which the host here leaves to another',
      mend: /^name its directory in \[scan\] ROOTS/,
    },
    {
      severity: 'wrong',
      message: /^the host gone, which walks nas:\/b\/git, has sent nothing since 2026-11-21/,
      mend: /start its daemon; .*softquota host forget -- gone$/,
    },
    {
      severity: 'wrong',
      message: /^nas:\/c is walked by the hosts here, other, so what lies there counts 2 times$/,
      mend: /^set \[scan\] ROOTS/,
    },
  ]);
  t.equal(
    toldOf(seen, 'shared_unwalked', 'shared_twice').length,
    3,
    'disks of their own have one name by chance',
  );
  t.strictSame(notReady(seen), [], 'what is known can be relied on');
  const starting = await observed(t, {
    now,
    fleet: fleet({ hosts: [...hosts, { ...host, host: 'new', roots: null }] }),
  });
  t.notMatch(
    toldOf(starting, 'shared_unwalked'),
    [{ message: /^no host walks/ }],
    'a host may still say that it does',
  );
});

t.test('hosts that count the same replicas of a Gitaly Cluster are told', async t => {
  const at = (
    host: string,
    praefectStorage: string | null,
    path = '/@cluster/repositories',
    isWalked = true,
  ) => ({
    ...unsaid,
    host,
    praefectStorage,
    version: '1',
    seenAt: Date.now(),
    isAlive: true,
    roots: [{ source: `/dev/vda1/git${path}`, isOfNetwork: false, isWalked }],
  });
  const told = async (...hosts: readonly ReturnType<typeof at>[]) =>
    toldOf(await observed(t, { fleet: fleet({ hosts }) }), 'shared_twice').map(({ message }) => message);
  const one = at('one', 'gitaly-1');
  t.strictSame(await told(one, at('two', 'gitaly-2')), []);
  t.strictSame(await told(one, at('two', 'gitaly-1')), [
    'the hosts one, two count the same replicas of a Gitaly Cluster, with [forge] PRAEFECT_STORAGE = gitaly-1',
  ]);
  t.strictSame(await told(one, at('two', null)), [
    'the hosts two walk replicas of a Gitaly Cluster that other hosts walk as well, without [forge] PRAEFECT',
  ]);
  t.strictSame(await told(at('one', null)), [], 'alone it counts one of each');
  t.strictSame(await told(one, at('two', null, '/@hashed')), [], 'it has no replicas');
  t.strictSame(await told(one, at('two', 'gitaly-1', '/@cluster', false)), [], 'it leaves them to the other');
});

t.test('a source that reports no more is told, with how to start again or to end it', async t => {
  const seen = await observed(t);
  const reported = {
    name: "it's / ours",
    reportedAt: Date.parse('2026-11-21T09:00:00Z'),
    staleAfterMs: 60_000,
    units: 1,
    owners: 1,
    bytes: 1,
    isStale: true,
  };
  const list = [reported, { ...reported, name: 'fresh', isStale: false }];
  Object.defineProperty(seen.ledger.sources, 'list', { value: list });
  t.match(
    findings(seen).filter(({ code }) => code.startsWith('source_')),
    [
      {
        code: 'source_stale',
        severity: 'wrong',
        message:
          "the source it's / ours last reported at 2026-11-21T09:00:00.000Z, but should report every 60 s: its figures are stale",
        mend: /: curl -q --unix-socket \/run\/softquota\/trusted\.sock -X DELETE 'http:\/\/localhost\/v1\/sources\/it/,
      },
    ],
  );
  t.strictSame(notReady(seen), [], 'the daemon itself is ready');
});

t.test('of many mistakes in a policy of one kind the first ones are told', async t => {
  const code = 'missing_default_group';
  const policyFaults = Array.from({ length: 30 }, (_, at) => ({ code, message: `missing-${at}` }) as const);
  const told = toldOf(await observed(t, { policyFaults }), 'policy_fault');
  t.equal(told.length, 21);
  t.match(told[0]?.message, 'missing-0');
  t.match(told.at(-1)?.message, '10 more like these');
});

const quarantines = { removed: [], held: [] };

/** Gives the findings with such codes of a worker of which this is known. */
async function findingsAbout(t: Test, codes: RegExp) {
  const seen = await observed(t);
  return (worker: Partial<Observed['worker']>) =>
    findings({ ...seen, worker: { isWanted: false, ...idle, state: null, silentMs: 0, ...worker } }).filter(
      ({ code }) => codes.test(code),
    );
}

t.test('a worker that is wanted and silent is named, and what it cannot guard', async t => {
  const hooks = { repositories: 1, unguarded: none };
  const told = await findingsAbout(t, /worker|garbage|repository_unguarded/);
  t.same(told({ isWanted: false, state: null, silentMs: 99_000 }), [], 'nobody wants one');
  t.same(told({ isWanted: true, state: null, silentMs: 20_000 }), [], 'the daemon has just started');
  t.match(told({ isWanted: true, state: null, silentMs: 31_000 }), [
    {
      code: 'worker_missing',
      message: /reported for 31 seconds/,
      mend: /^systemctl enable --now softquota-worker/,
    },
  ]);
  t.same(told({ isWanted: true, state: { version, hooks, quarantines }, silentMs: 5000 }), []);
  t.match(told({ isWanted: true, state: { version: '0.0.1', hooks: null, quarantines }, silentMs: 5000 }), [
    { code: 'worker_outdated', message: /the worker is version 0\.0\.1/ },
    { code: 'worker_missing', message: /was started before/ },
  ]);
  const place = { path: '/srv/git/a/\u001bb.git', why: 'it belongs to the user 7' };
  const unguarded = { first: [place], count: 1 };
  t.match(
    told({
      isWanted: true,
      state: { version, hooks: { ...hooks, unguarded }, quarantines },
      silentMs: 0,
    }),
    [
      {
        code: 'repository_unguarded',
        severity: 'wrong',
        message: /a\/\\u\{1b\}b\.git has no working hooks.*user 7/,
      },
    ],
  );
});

t.test('pushes that do not end are named, and a server on which broken ones stay', async t => {
  const told = await findingsAbout(t, /long_push|broken_pushes|other_git/);
  t.same(told({ leavesBroken: true, silentMs: 20_000 }), [], 'the daemon has just started');
  t.match(told({ leavesBroken: true, silentMs: 31_000 }), [{ code: 'broken_pushes', severity: 'notice' }]);
  t.same(told({ leavesBroken: false, silentMs: 31_000 }), []);
  const held = (minutes: number) => ({
    unit: '/srv/git/a/\u001bb.git',
    name: 'tmp_objdir-incoming-abcdef',
    bytes: 5_000_000,
    since: Date.now() - minutes * 60_000,
  });
  const state = { version, hooks: null, quarantines: { removed: [], held: [held(59), held(61)] } };
  t.match(told({ state }), [
    {
      code: 'long_push',
      severity: 'notice',
      message: /a\/\\u\{1b\}b\.git: a push that began at .* holds 5 MB/,
    },
  ]);
  t.same(told({ state, silentMs: 31_000 }), [], 'nobody knows any more');
  t.match(told({ otherGits: ['/opt/gitlab/git-core'] }), [{ code: 'other_git', message: /\/opt\/gitlab/ }]);
});

t.test('much garbage is named where nothing collects it, and so is a collection that fails', async t => {
  const toldOfState = await findingsAbout(t, /worker|garbage/);
  const state = { version, hooks: null, quarantines };
  const told = (worker: Partial<typeof idle>, silentMs = 0) => toldOfState({ state, silentMs, ...worker });
  t.same(told({ unreachableBytes: 999_999_999 }), []);
  const mend =
    /RUN = gc; then restart the daemon, and the worker: systemctl restart softquota-worker; or run /;
  t.match(told({ unreachableBytes: 2_500_000_000 }), [{ code: 'garbage', message: /^2\.5 GB/, mend }]);
  t.same(told({ unreachableBytes: 2_500_000_000, collects: true }), []);
  t.match(told({ collects: true }, 31_000), [
    { code: 'worker_missing', message: /nothing that is deleted frees space/ },
  ]);
  const place = { path: '/srv/git/a/\u001bb.git', why: 'git repack: no space' };
  t.match(told({ failing: { first: [place], count: 1 } }), [
    { code: 'garbage_failing', message: /a\/\\u\{1b\}b\.git: .*git repack: no space/ },
  ]);
});

t.test('where garbage is forgiven, a worker that is silent is told, with what still holds', async t => {
  const seen = await observed(t);
  const told = (isForgiving: boolean, silentMs: number) => {
    const worker = { isWanted: false, ...idle, isForgiving, state: null, silentMs };
    return { notes: notes({ ...seen, worker }), codes: codes({ ...seen, worker }) };
  };
  t.same(told(true, 20_000).notes, []);
  t.notOk(told(true, 20_000).codes.includes('worker_missing'));
  t.same(told(false, 90_000).notes, []);
  const silent = told(true, 90_000);
  t.match(silent.notes, [/^no worker has reported since .*Z: .*ten minutes after a push.*after a day$/]);
  t.ok(silent.codes.includes('worker_missing'));
});
