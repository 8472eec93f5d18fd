/** Findings of doctor and /readyz on a running daemon. */

import t from 'tap';
import { findings, notes, notReady } from '../../src/health/index.ts';
import { failureOf } from '../../src/store/redis/faults.ts';
import { World, walk } from '../ledger/world.ts';
import { codes, fleet, observed, toldOf } from './observed.ts';

t.test('before any sweep has ended nothing is ready', async t => {
  const seen = { ...(await observed(t)), ledger: await new World(t).open() };
  t.match(notReady(seen), [/^no sweep has finished yet/]);
  t.ok(codes(seen).includes('not_swept'));
  t.strictSame(notReady(await observed(t)), []);
});

t.test('a storage root that is away is named, with how to go on', async t => {
  const seen = await observed(t, { rootsAway: [{ path: '/srv/\u001b[31mgit', why: 'it is missing' }] });
  t.strictSame(notReady(seen), [
    'storage root /srv/\\u{1b}[31mgit: it is missing; its units keep their last known bytes',
  ]);
  t.match(toldOf(seen, 'root_away'), [
    { severity: 'wrong', message: /it is missing/, mend: /^mount the file system/ },
  ]);
  const place = { path: '/srv/\u001b[31mgit', why: 'ENOENT' };
  t.notOk(codes({ ...seen, unread: { first: [place], count: 1 } }).includes('unread'), 'it is told once');
});

t.test('a disk that does not answer is told with its path, and a long walk is a notice', async t => {
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
  t.match(toldOf(seen, 'disk_hangs'), [
    { severity: 'wrong', message: /far\/alice has not answered/, mend: /findmnt --mountpoint \/mnt;/ },
  ]);
});

t.test('disks with too little left, or that limits promise more than they have, are named', async t => {
  const disk = { of: 'bytes', free: 4, size: 100, least: 5 } as const;
  const now = Date.UTC(2026, 10, 23);
  const observation = await observed(t, {
    now,
    shortDisks: [
      { path: '/srv/git', state: 'full', disk },
      { path: '/srv/lfs', state: 'low', disk: { ...disk, of: 'files' } },
    ],
    outlook: { promised: 12e12, size: 4e12, full_at: new Date(now + 10 * 86_400_000).toISOString() },
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
    { code: 'disk_low', message: /are full on 2026-12-03$/ },
    { code: 'overcommitted', message: 'the limits promise 12 TB, and the disks have 4 TB' },
  ]);
  const safe = findings({ ...observation, shortDisks: [], keepsFree: true });
  t.notOk(safe.some(({ code }) => code === 'overcommitted'));
});

t.test('notices that could not be delivered are named with their place and the last fault', async t => {
  const notices = [
    { name: 'chat', dead: 2, last_fault: 'chat.example answered \u001b[31m500' },
    { name: 'mail', dead: 0, last_fault: 'no answer within 10 s' },
  ];
  const seen = await observed(t, { notices });
  const found = toldOf(seen, 'notices_dead');
  const message = '2 notices to chat could not be delivered: chat.example answered \\u{1b}[31m500';
  t.match(found, [{ severity: 'notice', message, mend: /softquota notices send-again --all/ }]);
  t.equal(found.length, 1);
  t.strictSame(notes(seen), ['2 notices to chat could not be delivered']);
  t.strictSame(notReady(seen), []);
});

t.test('keys that are missing are named, the first ones, and leave the daemon ready', async t => {
  const missingKeys = Array.from({ length: 25 }, (_, at) => `[webhook.n${at}] URL`);
  const seen = await observed(t, { missingKeys });
  const message =
    /^app\.ini lacks 25 of what was in force at the last start: \[webhook\.n0\] URL, .*n19\] URL\. U/;
  t.match(toldOf(seen, 'keys_missing'), [
    { severity: 'wrong', message, mend: /softquota scan --accept-moved/ },
  ]);
  t.match(notes(seen), [message]);
  t.strictSame(notReady(seen), []);
});

t.test(
  'messages that the shared store refuses are noted, and named with the command that mends it',
  async t => {
    const message = 'changes of other hosts are seen a second later: Redis does not permit it';
    const advice = [{ code: 'no_messages', message, mend: 'ACL SETUSER NAME &a:news +subscribe' } as const];
    const seen = await observed(t, { fleet: fleet({ advice }) });
    t.strictSame(notes(seen), [message]);
    t.strictSame(notReady(seen), []);
    t.match(toldOf(seen, 'shared_store'), [{ severity: 'notice', message, mend: /^ACL SETUSER/ }]);
  },
);

t.test('a sweep that does not come back is told after three were missed', async t => {
  t.notOk(codes(await observed(t, { sweptAgoMs: 2_700_000 })).includes('not_swept'));
  const late = await observed(t, { sweptAgoMs: 2_760_000 });
  t.match(toldOf(late, 'not_swept')[0]?.message, 'the last sweep ended 46 minutes ago');
  t.notOk(codes(await observed(t, { sweptAgoMs: null })).includes('not_swept'));
});

t.test('a unit that was never measured is named until it is, and not while its first push comes', async t => {
  const seen = await observed(t);
  const told = () => ({ notes: notes(seen), found: toldOf(seen, 'unmeasured') });
  const { walks } = (await seen).ledger;
  const unit = { path: '/srv/git/a\u202e.git', owner: 'alice', leaf: 'size:repos:private' } as const;
  walks.adjustBytes(unit.path, 0, unit);
  t.strictSame(told(), { notes: [], found: [] });
  const nothing = { bytes: 0, files: 0, partial: true, measuredAt: 1 };
  walks.record({ ...unit, ...nothing, seq: walks.nextSeq() });
  t.match(told(), {
    notes: ['1 unit could not be measured at all, and 0 bytes count: softquota doctor names them'],
    found: [{ severity: 'wrong', message: /^\/srv\/git\/a\\u\{202e\}\.git: / }],
  });
  walks.record({ ...unit, ...nothing, bytes: 5, seq: walks.nextSeq() });
  t.strictSame(told(), { notes: [], found: [] }, 'a part of it is read');
  walks.record({ ...unit, ...nothing, seq: walks.nextSeq() });
  walks.recordGone(unit.path, walks.nextSeq());
  t.strictSame(told(), { notes: [], found: [] }, 'and so it is when the unit is gone');
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
  t.match(toldOf(seen, 'leftover'), [
    { severity: 'notice', message: '/srv/x: 5 MB that git began on 2026-01-02 and never finished' },
  ]);
  t.ok(codes(seen).includes('no_storage'));
});

t.test('what the daemon may not read is mended for its own user, anything else by looking', async t => {
  const mendOf = async (why: string) => {
    const seen = await observed(t, { unread: { first: [{ path: "/srv/it's", why }], count: 1 } });
    return toldOf(seen, 'unread')[0]?.mend;
  };
  const path = "'/srv/it'\\''s'";
  const command = `setfacl -R -m u:1000:rX,d:u:1000:rX ${path} && softquota scan`;
  t.equal(await mendOf('EACCES'), `${command}  # setfacl is in the package acl`);
  t.match(await mendOf('EIO'), /^see why: ls -la /);
});

t.test('a sweep that failed is told with why', async t => {
  const seen = await observed(t, { sweepError: 'a thread ended' });
  t.match(toldOf(seen, 'not_swept'), [
    { severity: 'wrong', message: 'the last sweep failed: a thread ended', mend: 'softquota scan' },
  ]);
});

t.test('a configuration that waits to be read, or for a restart, is named', async t => {
  const seen = await observed(t, { configWrittenAt: 0, restartKeys: ['[server] SOCKET'] });
  t.match(toldOf(seen, 'config_changed', 'restart_needed'), [
    { message: /^app\.ini was changed at 1970-01-01T00:00:00\.000Z/, mend: 'kill -HUP 4711' },
    { message: /\[server\] SOCKET$/, mend: 'restart the daemon' },
  ]);
});

t.test('a secret that no key opens is named', async t => {
  const seen = await observed(t, { lostSecrets: ['company'] });
  t.match(toldOf(seen, 'secret_lost'), [
    { severity: 'wrong', message: /source company .*SECRET_KEY/, mend: /restart the daemon/ },
  ]);
});

const wellForge = {
  kind: 'gitea',
  fault: null,
  readAt: 1,
  unowned: [],
  refused: [],
  absent: 0,
  odd: { count: 0, first: [] },
} as const;

t.test('owners that fall together are named', async t => {
  const seen = await observed(t);
  walk(seen.ledger, 'Alice/a', 1);
  walk(seen.ledger, 'alice/b', 1);
  const message = 'these names count for the same owner: Alice, alice';
  t.match(toldOf(seen, 'same_owner'), [{ severity: 'notice', message, mend: /CASE = keep/ }]);
  t.match(
    toldOf({ ...seen, forge: wellForge }, 'same_owner'),
    [{ mend: 'rename a directory' }],
    'with a forge CASE = keep is refused',
  );
});

t.test('default groups that are nowhere are a notice', async t => {
  const message = 'DEFAULT_GROUPS names "free", which does not exist';
  const seen = await observed(t, { policyFaults: [{ code: 'missing_default_group', message }] });
  t.match(toldOf(seen, 'policy_fault'), [{ severity: 'notice', message, mend: /DEFAULT_GROUPS/ }]);
});

t.test('what cannot be published for hooks is told, with since when and why', async t => {
  const since = Date.parse('2026-11-21T09:14:03Z');
  const seen = await observed(t, { unpublished: { since, reason: 'EACCES \u001b[1m/run/softquota' } });
  t.match(toldOf(seen, 'unpublished'), [
    { severity: 'wrong', message: /since 2026-11-21T09:14:03.000Z: EACCES \\u\{1b\}\[1m\/run/ },
  ]);
  t.strictSame(notReady(seen), [], 'its answers are as good as ever');
});

t.test('pushes that nobody decided about are wrong, with directory and number', async t => {
  const lastAt = Date.parse('2026-11-21T09:14:03Z');
  const unmanagedPushes = [
    { path: '/mnt/a b.git', count: 3, lastAt },
    { path: '/home/ann/x.git', count: 1, lastAt },
  ];
  t.match(toldOf(await observed(t, { unmanagedPushes }), 'unmanaged_push'), [
    {
      severity: 'wrong',
      message: /^\/mnt\/a b\.git: 3 pushes were allowed .*2026-11-21T09:14:03/,
      mend: /\[storage\.repos\] PATH.*container.*a day after the last push: softquota hooks remove '\/mnt\/a b\.git'$/,
    },
    { message: /^\/home\/ann\/x\.git: 1 push was allowed/ },
  ]);
});

t.test('a name that another daemon has is told with the way out, and usage may be behind', async t => {
  const nameTaken = {
    since: Date.parse('2026-11-21T09:14:03Z'),
    message: 'another daemon has HOST_ID = one',
  };
  const seen = await observed(t, { fleet: fleet({}, { nameTaken }) });
  t.match(notReady(seen), [/^another daemon has HOST_ID = one \(since 2026-11-21T09:14:03\.000Z\)$/]);
  t.match(toldOf(seen, 'host_id_taken'), [{ severity: 'wrong', mend: /HOST_ID/ }]);
});

t.test('a shared store that answers with an error has advice for that error', async t => {
  for (const [reply, mend] of [
    ["OOM command not allowed when used memory > 'maxmemory'", /raise maxmemory/],
    ['MISCONF errors writing to disk', /free disk space/],
    ["NOPERM this user has no permissions to run the 'eval' command", /the rights in docs\/redis.md/],
    ['WRONGPASS invalid username-password pair', /correct user and password/],
    ['LOADING Redis is loading the dataset in memory', /start the server/],
  ] as const) {
    const error = Object.assign(new Error(reply), { name: 'ReplyError' });
    const away = { since: 0, reason: failureOf('redis://git1:6379/0', error).message };
    const seen = await observed(t, { fleet: fleet({}, { away }) });
    t.match(toldOf(seen, 'shared_away'), [{ mend }], reply);
  }
});

t.test('a shared store that is away, or holds another policy, is told with the way out', async t => {
  const away = { since: Date.parse('2026-11-21T09:14:03Z'), reason: 'connection refused \u001b[1m' };
  const divergence = { why: 'older', message: 'the store has another policy' } as const;
  const seen = await observed(t, {
    fleet: fleet({}, { away, divergence }),
  });
  t.match(notReady(seen), [
    /^the shared store has not been usable since 2026-11-21T09:14:03.000Z, .*: connection refused \\u\{1b\}\[1m$/,
    'the store has another policy',
  ]);
  t.match(toldOf(seen, 'policy_diverged'), [{ severity: 'wrong', mend: /softquota store repair --known/ }]);
});

t.test('usage that the shared store does not take makes no answer of this host unreliable', async t => {
  const reason = "NOPERM: redis://git1:6379/0 does not permit it: no rights to 'hset'";
  const untold = { since: Date.parse('2026-11-21T09:14:03Z'), reason };
  const seen = await observed(t, { fleet: fleet({}, { untold }) });
  t.strictSame(notReady(seen), []);
  const message = `the other hosts have not been told the usage on this host since 2026-11-21T09:14:03.000Z, so they count what they knew of it: ${reason}`;
  t.strictSame(notes(seen), [message]);
  t.match(toldOf(seen, 'shared_untold', 'shared_away'), [{ message, mend: /the rights in docs\/redis.md/ }]);
});

t.test('stale figures of the forge are told with what may help, and not beside its fault', async t => {
  const seen = await observed(t);
  const figures = { reportedAt: 1, staleAfterMs: 60_000, units: 1, owners: 1, bytes: 1, isStale: true };
  Object.defineProperty(seen.ledger.sources, 'list', { value: [{ name: 'forge', ...figures }] });
  const told = (of: typeof seen.forge) => toldOf({ ...seen, forge: of }, 'source_stale', 'forge_away');
  t.match(told(wellForge), [{ code: 'source_stale', mend: /^systemctl restart softquota;/ }]);
  t.notMatch(told(wellForge)[0]?.mend, /reporting program|DELETE/);
  const fault = { code: 'unreachable', message: 'no answer', mend: 'start it', since: 1 } as const;
  t.strictSame(
    told({ ...wellForge, fault }).map(({ code }) => code),
    ['forge_away'],
  );
});
