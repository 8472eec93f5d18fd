import t from 'tap';
import { formatFaults } from '../../src/config/index.ts';
import { configOf, faultsOf, loadText } from './written.ts';

t.test('a file with six different faults names all six, each with its line', async t => {
  const ini = `[quota]
ENABLED = maybe
[quota.default]
TOTAL = 10 gigs
TOTAL = 5G
[qouta]
[storage.lfs]
PATH = /srv/lfs/{repo}
[scan]
SHEDULE = @daily
`;
  t.same(faultsOf(t, ini), [
    'app.ini:2: [quota] ENABLED = "maybe": neither true nor false. Write true or false.',
    'app.ini:4: [quota.default] TOTAL = "10 gigs": not a size. Write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit.',
    'app.ini:5: [quota.default] TOTAL: is already on line 4. Keep one of the two.',
    'app.ini:6: [qouta]: this version does not know this section. Did you mean [quota]?',
    'app.ini:8: [storage.lfs] PATH = "/srv/lfs/{repo}": "/srv/lfs/{repo}" has no {owner}, and OWNER is path. Add {owner} to the path, or set OWNER.',
    'app.ini:10: [scan] SHEDULE: this version does not know this key. Did you mean SCHEDULE?',
  ]);
});

t.test('programs get the parts of a fault', async t => {
  const loaded = loadText(t, '[quota.default]\nTOTAL = 10 gigs\n', { SOFTQUOTA__LOG__LEVEL: 'loud' });
  t.match(loaded, {
    ok: false,
    faults: [
      { file: 'app.ini', line: 2, section: 'quota.default', key: 'TOTAL', value: '10 gigs' },
      { variable: 'SOFTQUOTA__LOG__LEVEL', section: 'log', key: 'LEVEL', value: 'loud' },
    ],
  });
});

t.test('an unknown name gets the name that was meant, or the names there are', async t => {
  const message = (ini: string) => faultsOf(t, ini)[0] ?? '';
  t.match(
    message('[quota]\nTOTAL = 1G\n'),
    /this key does not belong here\. It belongs to \[quota\.default\]\.$/,
  );
  t.match(message('[storage.wiki]\nVISIBILITY = public\n'), /It belongs to \[storage\.repos\]\.$/);
  t.match(message('TOTAL = 1G\n'), /^app\.ini:1: TOTAL: is before the first \[section\]\. It belongs to/);
  t.match(message('[repos]\nPATH = /a/{owner}\n'), /Did you mean \[storage\.repos\]\?$/);
  t.match(message('[storage.packges]\n'), /Did you mean \[storage\.packages\]\?$/);
  t.match(message('[hooks]\nMOTD = hello\n'), /does not know this key\. Known here: CONTACT, KEEP\.$/);
  t.match(message('[quota]\nENABLED[] = true\n'), /Did you mean ENABLED\?$/);
  t.equal(faultsOf(t, '[nowhere at all]\nA = 1\nB = 2\n').length, 1);
});

t.test('names that JavaScript objects have by birth are unknown like any other', async t => {
  t.match(
    faultsOf(t, '[__proto__]\nENABLED = true\n')[0],
    /^app\.ini:1: \[__proto__\]: this version does not know/,
  );
  t.match(
    faultsOf(t, '[quota]\n__proto__ = 1\n')[0],
    /^app\.ini:2: \[quota\] __PROTO__: this version does not know/,
  );
  t.match(faultsOf(t, '[constructor]\n')[0], /does not know this section/);
});

t.test('nothing that misleads a terminal comes through', async t => {
  const shown = formatFaults([
    { file: 'a\nb.ini', line: 1, section: 'x', key: 'Y', value: 'z\u202e\u001b[2J', message: 'bad.' },
  ]);
  t.equal(shown, 'a\\u{a}b.ini:1: [x] Y = "z\\u{202e}\\u{1b}[2J": bad.');
});

t.test('a secret is never shown, wherever it went wrong', async t => {
  const secret = 'hunter2 swordfish';
  for (const ini of [
    `[security]\nSECRET_KEY = ${secret}\n`,
    `[security]\nSECRT_KEY = ${secret}\n`,
    `[security]\nSECRET_KEY = "${secret}\n`,
    `[security]\nSECRET_KEY : ${secret}\n`,
    `SECRET_KEY = ${secret}\n`,
    `[security]\nSECRET_KEY = ${'k'.repeat(32)}\nSECRET_KEY = ${secret}\n`,
    `[store]\nHOST = redis://bob:${secret}@h:99999\n`,
    `[store]\nHOST = bob:${secret}@h\n`,
    `[store]\nHOST = redis://h:6379/0?password=${secret}\n`,
    `[store]\nHOST = redis://h:6379/0?password=x@${secret}\n`,
    `[forge]\nDATABASE = postgres://db.example/gitea?user=u&password=${secret}\n`,
    `[forge]\nPRAEFECT = host=db.example user=u password=${secret}\n`,
    '[lfs]\nUPSTREAM = http:bob:hunter2swordfish@h\n',
  ]) {
    const shown = faultsOf(t, ini).join('\n');
    t.not(shown, '', ini);
    t.notMatch(shown, /hunter2|swordfish/, ini);
  }
});

t.test('a fault of an address shows its host and path', async t => {
  t.match(faultsOf(t, '[store]\nHOST = redis://bob:hunter2@h:99999\n'), [
    /HOST = "redis:\/\/\*{8}@h:99999": not an address of a store/,
  ]);
  t.match(faultsOf(t, '[forge]\nDATABASE = postgres://db.example/gitea?password=hunter2\n'), [
    /DATABASE = "postgres:\/\/db\.example\/gitea\*{8}": an address without a user/,
  ]);
  t.match(faultsOf(t, '[forge]\nDATABASE = sqlite:srv/my data/gitea@1.db\n'), [
    /DATABASE = "sqlite:srv\/my data\/gitea@1\.db": not an absolute path/,
  ]);
});

t.test('a key of the release before stops the start where it decided something', async t => {
  t.same(faultsOf(t, '[quota]\nBURST = 2G\n'), [
    'app.ini:2: [quota] BURST: this key is gone, since what an allowed push brings counts at once. Remove it.',
  ]);
  t.match(loadText(t, '', { SOFTQUOTA__QUOTA__BURST: '2G' }), {
    ok: false,
    faults: [{ variable: 'SOFTQUOTA__QUOTA__BURST', message: /^this key is gone/ }],
  });
  t.match(faultsOf(t, '[forge]\nCOUNT = as-forgejo\n'), [/COUNT: this key is gone: an object counts once/]);
  t.match(faultsOf(t, '[storage.lfs]\nRULER = xattr:ceph.dir.rbytes\n'), [
    /^app\.ini:2: \[storage\.lfs\] RULER: this key is gone: softquota walks every directory\./,
  ]);
});

t.test('a key of the release before that decided nothing is named in a note', async t => {
  const notesOf = (ini: string, env = {}) => {
    const { ok, notes } = loadText(t, ini, env);
    t.equal(ok, true);
    return notes.filter(note => note.includes('this key is gone'));
  };
  t.match(notesOf('[storage.lfs]\nRULER = walk\n'), [
    /^app\.ini:2: \[storage\.lfs\] RULER: this key is gone: softquota walks every directory\./,
  ]);
  for (const [section, line] of [
    ['forge', 'COUNT = once'],
    ['forge', 'POLL = 5s'],
    ['scan', 'VERIFY = @daily'],
    ['disk', 'WARN_FREE = 10%'],
    ['metrics', 'OWNERS = true'],
  ] as const) {
    t.equal(notesOf(`[${section}]\n${line}\n`).length, 1, line);
  }
  t.match(notesOf('', { SOFTQUOTA__STORAGE_0X2E_LFS__RULER: 'Walk' }), [
    /^SOFTQUOTA__STORAGE_0X2E_LFS__RULER: /,
  ]);
});

t.test('GRACE is a time, or nothing, and GRACE_MOST a percentage or a size', async t => {
  const quotaOf = (ini: string) => configOf(t, `[quota]\n${ini}`).quota;
  t.match(quotaOf(''), { graceMs: null, graceMost: { percent: 10 } });
  t.match(quotaOf('GRACE = 7d\nGRACE_MOST = 12.5%\n'), {
    graceMs: 604_800_000,
    graceMost: { percent: 12.5 },
  });
  t.match(quotaOf('GRACE =\nGRACE_MOST = 5G\n'), { graceMs: null, graceMost: { bytes: 5_000_000_000 } });
  t.match(
    faultsOf(t, '[quota]\nGRACE = soon\n').join(),
    /GRACE = "soon": not a duration\. Write a whole number/,
  );
  t.match(
    faultsOf(t, '[quota]\nGRACE_MOST = 0 %\n').join(),
    /GRACE_MOST = "0 %": not above 0\. Write a perc/,
  );
  t.match(faultsOf(t, '[quota]\nGRACE_MOST = much\n').join(), /GRACE_MOST = "much": not a size/);
});

t.test('a host that shares its store has to have a name', async t => {
  t.match(faultsOf(t, '[store]\nADAPTER = redis\n').join(), /ADAPTER = redis needs \[server\] HOST_ID/);
  const named = '[store]\nADAPTER = redis\n[server]\nHOST_ID = git1\n';
  t.match(faultsOf(t, named).join(), /ADAPTER = redis needs \[security\] SECRET_KEY/);
  t.match(
    faultsOf(t, `${named}[security]\nSECRET_KEY = ${'k'.repeat(32)}, short\n`),
    [/too short/],
    'and no other fault',
  );
  t.match(configOf(t, `${named}[security]\nSECRET_KEY = ${'k'.repeat(32)}\n`).store, { adapter: 'redis' });
});

t.test('two sockets with one path are refused', async t => {
  t.same(faultsOf(t, '[server]\nSOCKET = ./x/../s\nADMIN_SOCKET = s\n').length, 1);
  t.match(faultsOf(t, '[server]\nADMIN_SOCKET = data/gate.sock\n')[0], /also the path of SOCKET/);
});

t.test('a socket path that the system would cut is refused, also where DATA_PATH makes it', async t => {
  const longest = process.platform === 'darwin' ? 103 : 107;
  const path = (bytes: number) => `/${'ü'.repeat((bytes - 1) >> 1)}${'a'.repeat((bytes - 1) & 1)}`;
  t.equal(configOf(t, `[server]\nSOCKET = ${path(longest)}\n`).server.socket, path(longest));
  t.match(faultsOf(t, `[server]\nSOCKET = ${path(longest + 1)}\n`)[0], `is ${longest + 1} bytes long`);
  const derived = faultsOf(t, `[server]\nDATA_PATH = ${path(longest)}\n`);
  t.equal(derived.length, 3, 'the gate, the trusted and the administrator socket');
  t.match(derived[0], /^\[server\] SOCKET: the path .* Give a shorter SOCKET or DATA_PATH\.$/);
});

t.test('storage that contradicts itself is refused', async t => {
  const message = (ini: string) => faultsOf(t, ini).join('\n');
  t.match(
    message('[storage.repos]\nPATH = /a//{owner}/{repo}\n[storage.lfs]\nPATH = /a/{owner}/{repo}/\n'),
    '"/a/{owner}/{repo}" is already in [storage.repos].',
  );
  t.match(
    message('[storage.lfs]\nPATH = /a/{owner}, ./a/{owner}, /a/{owner}/\n'),
    'is already in [storage.lfs]',
  );
  t.match(message('[storage.lfs]\nPATH = /a\nOWNER = git-config a.b\n'), 'git-config is not possible here');
  t.match(message('[storage.lfs]\nPATH = /a/{owner}, /a/{owner}\n'), 'is already in [storage.lfs]');
  t.same(faultsOf(t, '[storage.lfs]\nPATH = /a\nOWNER = fixd bob\n').length, 1, 'OWNER alone is at fault');
  t.match(message('[storage.lfs]\nPATH = /a/{ower}\n'), 'is not a template');
  t.match(message('[storage.lfs]\nPATH = {owner}/../b\n'), 'is not a template');
  t.same(faultsOf(t, '[storage.lfs]\nPATH = /a\nOWNER = fixed bob\n'), []);
  t.same(faultsOf(t, '[storage.wiki]\nPATH = /a/{repo}\nOWNER = git-config softquota.owner\n'), []);
});

t.test('a host walks a part of its storage only where it shares its quota', async t => {
  const storage =
    '[storage.repos]\nPATH = /mnt/nas/git/{owner}/{repo}.git, /srv/git/{owner}/{repo}.git\n[storage.lfs]\nPATH = /mnt/nas/lfs/{owner}\n';
  const roots = (value: string) => `${storage}[scan]\nROOTS = ${value}\n`;
  t.same(faultsOf(t, roots('/srv/git')), [
    'app.ini:6: [scan] ROOTS = "/srv/git": this host does not share its quota, so it has to walk all. ROOTS needs [store] ADAPTER = redis.',
  ]);
  t.same(faultsOf(t, roots('all')), []);
  const security = `[security]\nSECRET_KEY = ${'k'.repeat(32)}\n`;
  const fleet = `[store]\nADAPTER = redis\n[server]\nHOST_ID = git1\n${security}`;
  const elsewhere = (value: string) =>
    configOf(t, fleet + roots(value)).storages.flatMap(({ elsewhere = [] }) => elsewhere);
  const [nas, own, lfs] = [
    '/mnt/nas/git/{owner}/{repo}.git',
    '/srv/git/{owner}/{repo}.git',
    '/mnt/nas/lfs/{owner}',
  ];
  t.strictSame(elsewhere('ALL'), []);
  t.strictSame(elsewhere('none'), [nas, own, lfs]);
  t.strictSame(elsewhere('/srv'), [nas, lfs]);
  t.strictSame(elsewhere('/mnt/nas/lfs, /srv/git/'), [nas]);
  t.same(faultsOf(t, fleet + roots('/srv/other')), [
    'app.ini:12: [scan] ROOTS = "/srv/other": no PATH begins in /srv/other. The directories that they begin with: /mnt/nas/git, /srv/git, /mnt/nas/lfs.',
  ]);
  t.match(faultsOf(t, fleet + roots('')), [/ROOTS.*empty/]);
  t.match(faultsOf(t, '[storage.lfs]\nPATH = /a/{owner}\nSHARED = nas1\n'), [
    /^app\.ini:3: \[storage\.lfs\] SHARED: this key is gone: each host says what it walks\./,
  ]);
});
