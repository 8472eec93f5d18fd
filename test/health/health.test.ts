/** What doctor and /readyz say of a running daemon. */

import t, { type Test } from 'tap';
import { findings, notes, notReady, type Observed } from '../../src/health/index.ts';
import { version } from '../../src/version.ts';
import { World, walk } from '../ledger/world.ts';

const none = { first: [], count: 0 };
const idle: Pick<Observed['worker'], 'collects' | 'isForgiving' | 'unreachableBytes' | 'failing'> = {
  collects: false,
  isForgiving: false,
  unreachableBytes: 0,
  failing: none,
};

async function observed(t: Test, differing: Partial<Observed> = {}): Promise<Observed> {
  const ledger = await new World(t).open();
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 0 }, [], () => true);
  return {
    ledger,
    forge: null,
    fleet: null,
    defaultGroups: [],
    storages: 1,
    rootsAway: [],
    shortDisks: [],
    outlook: { promisedBytes: 0, sizeBytes: 0, fullAt: null },
    keepsFree: false,
    hangs: [],
    walking: [],
    unread: none,
    faults: none,
    rulers: none,
    leftovers: none,
    renames: [],
    sweptAgoMs: 0,
    sweepEveryMs: 900_000,
    unpublished: null,
    worker: { isWanted: false, ...idle, state: null, silentMs: 0 },
    notices: [],
    offlineDecisions: null,
    sweepError: null,
    configWrittenAt: null,
    restartKeys: [],
    lostSecrets: [],
    trustedSocket: '/run/softquota/trusted.sock',
    pid: 4711,
    uid: 1000,
    now: Date.now(),
    ...differing,
  };
}

const codes = (seen: Observed) => findings(seen).map(({ code }) => code);

t.test('before any sweep has ended nothing is ready', async t => {
  const seen = { ...(await observed(t)), ledger: await new World(t).open() };
  t.match(notReady(seen), [/^no sweep has finished yet/]);
  t.ok(codes(seen).includes('never_swept'));
  t.strictSame(notReady(await observed(t)), []);
});

t.test('a storage root that is away is named, with how to go on', async t => {
  const seen = await observed(t, { rootsAway: [{ path: '/srv/\u001b[31mgit', why: 'it is missing' }] });
  t.strictSame(notReady(seen), [
    'storage root /srv/\\u{1b}[31mgit: it is missing; its units keep their last known bytes',
  ]);
  t.match(
    findings(seen).find(({ code }) => code === 'root_away'),
    { severity: 'wrong', message: /it is missing/, mend: /^mount the file system/ },
  );
  const place = { path: '/srv/\u001b[31mgit', why: 'ENOENT' };
  t.notOk(codes({ ...seen, unread: { first: [place], count: 1 } }).includes('unread'), 'it is told once');
});

t.test(
  'a disk that does not answer is told with its path, and a walk that only takes long is a notice',
  async t => {
    const hangs = [
      { path: '/mnt/\u001b[31mfar/alice', mountedAt: '/mnt', milliseconds: 31_000 },
      { path: '/mnt/other', mountedAt: '/mnt', milliseconds: 30_500 },
    ];
    const walking = [
      { path: '/srv/large', milliseconds: 45_300 },
      { path: '/srv/small', milliseconds: 29_000 },
      { path: '/mnt/\u001b[31mfar', milliseconds: 31_000 },
    ];
    const seen = await observed(t, { hangs, walking });
    t.match(notReady(seen), [/^the disk at \/mnt\/\\u\{1b\}\[31mfar\/alice has not answered since 2/]);
    t.equal(notReady(seen).length, 1, 'once, however many threads wait for it');
    t.match(notes(seen), [/^the walk of \/srv\/large began at 2.*Z, and makes progress$/]);
    t.equal(notes(seen).length, 1);
    const found = findings(seen);
    t.match(
      found.find(({ code }) => code === 'disk_hangs'),
      { severity: 'wrong', message: /far\/alice has not answered/, mend: /findmnt --mountpoint \/mnt;/ },
    );
    t.match(
      found.filter(({ code }) => code === 'long_walk'),
      [{ severity: 'notice', message: 'the walk of /srv/large has taken 45 seconds, and makes progress' }],
    );
  },
);

t.test('disks with too little left, or that limits promise more than they have, are named', async t => {
  const disk = { of: 'bytes', free: 4, size: 100, least: 5 } as const;
  const now = Date.UTC(2026, 10, 23);
  const observation = await observed(t, {
    now,
    shortDisks: [
      { path: '/srv/git', state: 'full', disk },
      { path: '/srv/lfs', state: 'low', disk: { ...disk, of: 'files' } },
    ],
    outlook: { promisedBytes: 12e12, sizeBytes: 4e12, fullAt: now + 10 * 86_400_000 },
  });
  const found = findings(observation).filter(
    ({ code }) => code.startsWith('disk_') || code === 'overcommitted',
  );
  t.match(found, [
    {
      code: 'disk_full',
      severity: 'wrong',
      message: /^\/srv\/git: The disk is nearly full: 4 B of 100 B are free/,
    },
    { code: 'disk_low', message: /^\/srv\/lfs: .*: 4 of 100 more files fit, and 5 have to stay possible$/ },
    { code: 'disk_full_soon', message: /are full on 2026-12-03$/ },
    { code: 'overcommitted', message: 'the limits promise 12 TB, and the disks have 4 TB' },
  ]);
  const safe = findings({ ...observation, shortDisks: [], keepsFree: true });
  t.notOk(safe.some(({ code }) => code === 'overcommitted'));
});

t.test('notices that could not be delivered are named with their place and the last fault', async t => {
  const notices = [
    { name: 'chat', dead: 2, lastFault: 'chat.example answered \u001b[31m500' },
    { name: 'mail', dead: 0, lastFault: 'no answer within 10 s' },
  ];
  const seen = await observed(t, { notices });
  const found = findings(seen).filter(({ code }) => code === 'notices_dead');
  const message = '2 notices to chat could not be delivered: chat.example answered \\u{1b}[31m500';
  t.match(found, [{ severity: 'notice', message, mend: /softquota notices send-again --all/ }]);
  t.equal(found.length, 1);
  t.strictSame(notes(seen), ['2 notices to chat could not be delivered']);
  t.strictSame(notReady(seen), []);
});

t.test('a sweep that does not come back is told after three were missed', async t => {
  t.notOk(codes(await observed(t, { sweptAgoMs: 2_700_000 })).includes('sweep_overdue'));
  const late = await observed(t, { sweptAgoMs: 2_760_000 });
  t.match(
    findings(late).find(({ code }) => code === 'sweep_overdue')?.message,
    'the last sweep ended 46 minutes ago',
  );
  t.notOk(codes(await observed(t, { sweptAgoMs: null })).includes('sweep_overdue'));
});

t.test('of many troubled places the first are named, and how many more there are', async t => {
  const place = { path: '/srv/git/a\u202e.git', why: 'EACCES' };
  const leftover = { path: '/srv/x', bytes: 5_000_000, modifiedAt: Date.parse('2026-01-02T00:00:00Z') };
  const seen = await observed(t, {
    unread: { first: [place], count: 7 },
    faults: { first: [place], count: 1 },
    leftovers: { first: [leftover], count: 1 },
    storages: 0,
  });
  const found = findings(seen);
  t.strictSame(
    found.filter(({ code }) => code === 'unread').map(({ message }) => message),
    ['/srv/git/a\\u{202e}.git: EACCES', '… and 6 more like these'],
  );
  t.match(
    found.find(({ code }) => code === 'leftover'),
    { severity: 'notice', message: '/srv/x: 5 MB that git began on 2026-01-02 and never finished' },
  );
  t.ok(codes(seen).includes('no_storage'));
});

t.test(
  'what the daemon may not read is mended by a line for its own user, anything else by looking',
  async t => {
    const mendOf = async (why: string) => {
      const seen = await observed(t, { unread: { first: [{ path: "/srv/it's", why }], count: 1 } });
      return findings(seen).find(({ code }) => code === 'unread')?.mend;
    };
    const path = "'/srv/it'\\''s'";
    const command = `setfacl -R -m u:1000:rX,d:u:1000:rX ${path} && softquota scan`;
    t.equal(await mendOf('EACCES'), `${command}  # setfacl is in the package acl`);
    t.match(await mendOf('EIO'), /^see why: ls -la /);
  },
);

t.test('a sweep that failed is told with why', async t => {
  const seen = await observed(t, { sweepError: 'a thread ended' });
  t.match(
    findings(seen).find(({ code }) => code === 'sweep_failed'),
    { severity: 'wrong', message: 'the last sweep failed: a thread ended', mend: 'softquota scan' },
  );
});

t.test('what was measured at a time that is yet to come means a wrong clock', async t => {
  const seen = await observed(t);
  const { measuredAt } = walk(seen.ledger, 'alice/a', 1);
  const at = (now: number) => findings({ ...seen, now }).find(({ code }) => code === 'measured_ahead');
  t.equal(at(measuredAt), undefined);
  t.match(at(measuredAt - 3_600_000), {
    severity: 'wrong',
    message: /^\/srv\/git\/alice\/a\.git: measured at .* which is in the future$/,
  });
});

t.test('a configuration that waits to be read, or for a restart, is named', async t => {
  const seen = await observed(t, { configWrittenAt: 0, restartKeys: ['[server] SOCKET'] });
  t.match(
    findings(seen).filter(({ code }) => ['config_changed', 'restart_needed'].includes(code)),
    [
      { message: /^app\.ini was changed at 1970-01-01T00:00:00\.000Z/, mend: 'kill -HUP 4711' },
      { message: /\[server\] SOCKET$/, mend: 'restart the daemon' },
    ],
  );
});

t.test('a secret that no key opens is named', async t => {
  const seen = await observed(t, { lostSecrets: ['company'] });
  t.match(
    findings(seen).filter(({ code }) => code === 'secret_lost'),
    [{ severity: 'wrong', message: /source company .*SECRET_KEY/, mend: /restart the daemon/ }],
  );
});

t.test('owners that fall together and owners that cannot be added up are named', async t => {
  const seen = await observed(t);
  walk(seen.ledger, 'Alice/a', 1);
  walk(seen.ledger, 'alice/b', 1);
  walk(seen.ledger, 'bob/a', Number.MAX_SAFE_INTEGER);
  walk(seen.ledger, 'bob/b', 1);
  const found = findings(seen);
  t.match(
    found.find(({ code }) => code === 'same_owner'),
    { severity: 'notice', message: 'these names count for the same owner: Alice, alice' },
  );
  t.match(
    found.find(({ code }) => code === 'sum_too_large'),
    { severity: 'wrong', message: /^the sum of bob's units/ },
  );
});

t.test('default groups that are nowhere are a notice', async t => {
  const seen = await observed(t, { defaultGroups: ['free'] });
  t.ok(findings(seen).some(({ message }) => message.includes('free')));
});

t.test('what cannot be published for hooks is told, with since when and why', async t => {
  const since = Date.parse('2026-11-21T09:14:03Z');
  const seen = await observed(t, { unpublished: { since, reason: 'EACCES \u001b[1m/run/softquota' } });
  t.match(
    findings(seen).find(({ code }) => code === 'unpublished'),
    { severity: 'wrong', message: /since 2026-11-21T09:14:03.000Z: EACCES \\u\{1b\}\[1m\/run/ },
  );
  t.strictSame(notReady(seen), [], 'its answers are as good as ever');
});

t.test('what hooks decided without the daemon is a notice', async t => {
  const lastAt = Date.parse('2026-11-21T09:14:03Z');
  const message = async (letThrough: number, refused: number) => {
    const found = findings(await observed(t, { offlineDecisions: { letThrough, refused, lastAt } }));
    return found.find(({ code, severity }) => code === 'offline_decisions' && severity === 'notice')?.message;
  };
  const at = 'the last at 2026-11-21T09:14:03.000Z';
  t.equal(await message(2, 1), `3 pushes were decided without the daemon, ${at}: 2 allowed, 1 refused`);
  t.equal(await message(0, 1), `1 push was decided without the daemon, ${at}: 0 allowed, 1 refused`);
});

t.test('a name that another daemon has is told with the way out, and usage may be behind', async t => {
  const nameTaken = {
    since: Date.parse('2026-11-21T09:14:03Z'),
    message: 'another daemon has HOST_ID = one',
  };
  const state = { away: null, divergence: null, nameTaken };
  const seen = await observed(t, { fleet: { state, advice: [], hosts: [], elsewhere: [], unshared: [] } });
  t.match(notReady(seen), [/^another daemon has HOST_ID = one \(since 2026-11-21T09:14:03\.000Z\)$/]);
  t.match(
    findings(seen).find(({ code }) => code === 'host_id_taken'),
    { severity: 'wrong', mend: /HOST_ID/ },
  );
});

t.test('a shared store that is away, or holds another policy, is told with the way out', async t => {
  const away = { since: Date.parse('2026-11-21T09:14:03Z'), reason: 'connection refused \u001b[1m' };
  const divergence = { why: 'emptied', message: 'the store has no policy' } as const;
  const seen = await observed(t, {
    fleet: {
      state: { away, divergence, nameTaken: null },
      advice: [],
      hosts: [],
      elsewhere: [],
      unshared: [],
    },
  });
  t.match(notReady(seen), [
    /^the shared store has not been usable since 2026-11-21T09:14:03.000Z, .*: connection refused \\u\{1b\}\[1m$/,
    'the store has no policy',
  ]);
  t.match(
    findings(seen).find(({ code }) => code === 'policy_diverged'),
    { severity: 'wrong', mend: /softquota store repair --known/ },
  );
});

t.test('a host that has been silent for more than a day is a notice, and how to forget it', async t => {
  const now = Date.parse('2026-11-21T09:00:00Z');
  const host = { version: '1', seenAt: now - 86_400_001, isAlive: false };
  const hosts = [
    { ...host, host: 'gone' },
    { ...host, host: 'lately', seenAt: now - 86_300_000 },
    { ...host, host: 'here', isAlive: true },
  ];
  const advice = [{ code: 'evicts', message: 'it may evict', mend: 'maxmemory-policy noeviction' }] as const;
  const state = { away: null, divergence: null, nameTaken: null };
  const seen = await observed(t, { now, fleet: { state, advice, hosts, elsewhere: [], unshared: [] } });
  const told = findings(seen).filter(({ code }) => ['host_silent', 'shared_store'].includes(code));
  t.match(told, [
    { severity: 'notice', message: 'it may evict', mend: 'maxmemory-policy noeviction' },
    {
      severity: 'notice',
      message: /^the host gone has sent nothing since 2026-11-20/,
      mend: /softquota host forget -- gone/,
    },
  ]);
  t.equal(told.length, 2);
  t.strictSame(notReady(seen), []);
});

t.test('what several hosts mount and nobody measures is told, and what has no name', async t => {
  const now = Date.parse('2026-11-21T09:00:00Z');
  const host = { version: '1', seenAt: now - 60_000, isAlive: false };
  const hosts = [
    { ...host, host: 'gone' },
    { ...host, host: 'here', isAlive: true },
  ];
  const state = { away: null, divergence: null, nameTaken: null };
  const elsewhere = [
    { name: 'nas1', walker: 'gone' },
    { name: 'nas2', walker: 'here' },
    { name: 'nas3', walker: null },
  ];
  const unshared = [{ path: '/mnt/nas/lfs', type: 'nfs4', section: 'storage.lfs' }];
  const seen = await observed(t, { now, fleet: { state, advice: [], hosts, elsewhere, unshared } });
  t.match(
    findings(seen).filter(({ code }) => code.startsWith('shared_')),
    [
      {
        severity: 'wrong',
        message: /^the host gone, which walks nas1, has sent nothing since 2026-11-21/,
        mend: /start its daemon; .*softquota host forget -- gone$/,
      },
      { severity: 'wrong', message: /^it is not known which host walks nas3/, mend: /^wait some seconds/ },
      {
        severity: 'notice',
        message: /^\/mnt\/nas\/lfs is on a file system of type nfs4: .* counts twice$/,
        mend: /^set \[storage\.lfs\] SHARED in app\.ini/,
      },
    ],
  );
  t.strictSame(notReady(seen), [], 'what is known can be relied on');
  const away = { since: now, reason: 'refused' };
  const withoutStore = await observed(t, {
    now,
    fleet: { state: { ...state, away }, advice: [], hosts: [], elsewhere, unshared: [] },
  });
  t.match(
    findings(withoutStore).filter(({ code }) => code === 'shared_unwalked'),
    [{ message: /nas3/, mend: /^start the server at \[store\] HOST/ }],
  );
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
  const lost = [{ file: '/var/lib/softquota/sources/1.db', why: 'file is not a database' }];
  Object.defineProperty(seen.ledger.sources, 'list', { value: list });
  Object.defineProperty(seen.ledger.sources, 'lost', { value: lost });
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
      {
        code: 'source_lost',
        severity: 'wrong',
        message: /1\.db, which .* cannot be read: file is not a database/,
      },
    ],
  );
  t.strictSame(notReady(seen), [], 'the daemon itself is ready');
});

t.test(
  'owners who seem to have been renamed are told with lines that can be copied, and only so many',
  async t => {
    const rename = {
      from: '-bob',
      to: "rob'rt\u001b[31m",
      units: 1,
      groups: ['free', 'a b'],
      newGroups: [],
      isOnlyFound: true,
    };
    const told = async (renames: Observed['renames']) =>
      findings(await observed(t, { renames })).filter(({ code }) => code === 'owner_renamed');
    t.match(await told([rename, { ...rename, newGroups: ['gold', 'free'], isOnlyFound: false }]), [
      {
        message:
          "-bob seems to have been renamed to rob'rt\\u{1b}[31m on the disk: 1 unit belongs to rob'rt\\u{1b}[31m now, and -bob, who has none left, is in the groups free, a b",
        mend: /^softquota user edit --name "\$\(printf .*\)" -- -bob {2}# if .* softquota user set-groups --none -- -bob$/,
      },
      { mend: /^softquota user set-groups -- .* gold free 'a b' && softquota user delete -- -bob {2}#/ },
    ]);
    const many = await told(Array.from({ length: 30 }, () => rename));
    t.equal(many.length, 21);
    t.match(many.at(-1)?.message, '10 more like these');
  },
);

t.test('a worker that is wanted and silent is named, and what it cannot guard', async t => {
  const seen = await observed(t);
  const hooks = { unguarded: none, putBack: { count: 0, last: null } };
  const told = (worker: Omit<Observed['worker'], keyof typeof idle> & Partial<typeof idle>) =>
    findings({ ...seen, worker: { ...idle, ...worker } }).filter(({ code }) =>
      /worker|garbage|repository_unguarded|hooks_replaced/.test(code),
    );
  t.same(told({ isWanted: false, state: null, silentMs: 99_000 }), [], 'nobody wants one');
  t.same(told({ isWanted: true, state: null, silentMs: 20_000 }), [], 'the daemon has just started');
  t.match(told({ isWanted: true, state: null, silentMs: 31_000 }), [
    {
      code: 'worker_missing',
      message: /reported for 31 seconds/,
      mend: /^systemctl enable --now softquota-worker/,
    },
  ]);
  t.same(told({ isWanted: true, state: { version, hooks }, silentMs: 5000 }), []);
  t.match(told({ isWanted: true, state: { version: '0.0.1', hooks: null }, silentMs: 5000 }), [
    { code: 'worker_outdated', message: /the worker is version 0\.0\.1/ },
    { code: 'worker_idle' },
  ]);
  const place = { path: '/srv/git/a/\u001bb.git', why: 'it belongs to the user 7' };
  const unguarded = { first: [place], count: 1 };
  t.match(
    told({
      isWanted: true,
      state: { version, hooks: { unguarded, putBack: { count: 2, last: '/srv/git/a/b.git' } } },
      silentMs: 0,
    }),
    [
      {
        code: 'repository_unguarded',
        severity: 'wrong',
        message: /a\/\\u\{1b\}b\.git has no working hooks.*user 7/,
      },
      { code: 'hooks_replaced', severity: 'notice', message: /2 times.*the last in \/srv\/git\/a\/b\.git/ },
    ],
  );
});

t.test('much garbage is named where nothing collects it, and so is a collection that fails', async t => {
  const seen = await observed(t);
  const told = (worker: Partial<typeof idle>, silentMs = 0) =>
    findings({
      ...seen,
      worker: { isWanted: false, ...idle, ...worker, state: { version, hooks: null }, silentMs },
    }).filter(({ code }) => /worker|garbage/.test(code));
  t.same(told({ unreachableBytes: 999_999_999 }), []);
  t.match(told({ unreachableBytes: 2_500_000_000 }), [{ code: 'garbage', message: /^2\.5 GB/ }]);
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
