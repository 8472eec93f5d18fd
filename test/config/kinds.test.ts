import { dirname } from 'node:path';
import t from 'tap';
import { valueIn } from '../../src/config/definition.ts';
import { sections } from '../../src/config/index.ts';
import { configOf, faultsOf } from './written.ts';

t.test('every default is one that its key takes, and says what it came to', async t => {
  const config = configOf(t, '');
  for (const { keys } of sections) {
    for (const key of keys) {
      t.match(key.parse(key.text), { ok: true }, `[${key.section}] ${key.name}`);
      const value = valueIn(config, key);
      const text = key.print(value);
      t.same(key.parse(text), { ok: true, value }, `[${key.section}] ${key.name} = ${text}`);
    }
  }
});

/** Values that a key takes, then values that it refuses. */
const examples: Readonly<Record<string, readonly [taken: readonly string[], refused: readonly string[]]>> = {
  'quota.ENABLED': [
    ['true', 'YES', 'on', '1', 'off', 'No'],
    ['', 'enabled', '2'],
  ],
  'quota.MODE': [
    ['report', 'Enforce'],
    ['', 'audit'],
  ],
  'quota.WARN_AT': [
    ['', '1', '100', '90, 80, 90'],
    ['0', '101', '80%', '80.5', '-1'],
  ],
  'requests.AUTO_GRANT': [
    ['', '2G for 30d, once in 90d', ' 500MiB  FOR 12h ,once in 4w', '1,000M for 1s, Once In 36500d'],
    [
      '2G',
      '2G for 30d',
      '2G for 30d once in 90d',
      '0 for 30d, once in 90d',
      '-1 for 30d, once in 90d',
      'much for 30d, once in 90d',
      '2G for a month, once in 90d',
      '2G for 3651d, once in 90d',
      '2G for 30d, once in a while',
    ],
  ],
  'server.SOCKET_MODE': [
    ['0660', '600', '0777'],
    ['', '8', '0o660', '1777', '0680', 'rw-rw----'],
  ],
  'server.SOCKET_GROUP': [
    ['', 'git', '998', 'EXAMPLE\\git users'],
    ['-1', 'a:b', 'a,b', 'a/b'],
  ],
  'server.HTTP_ADDR': [
    ['::', '[::1]', '0.0.0.0', 'localhost', 'git-1.example'],
    ['', '300.1.1.1', 'a b', 'http://x', '-x', '127.0.0.1:80'],
  ],
  'server.HTTP_PORT': [
    ['0', '65535', '3080'],
    ['', '65536', '-1', '80.0', '0x50'],
  ],
  'server.ROOT_URL': [
    ['', 'https://git.example', 'http://[::1]:3080/a/b', 'HTTP://git.example/ü'],
    [
      'git.example',
      'ftp://x/',
      'https://',
      'https://x/?',
      'https://x/#',
      'https://u@x/',
      'javascript:alert(1)',
    ],
  ],
  'server.TRUSTED_PROXIES': [
    ['', '10.0.0.1', 'fd00::/8, 10.0.0.0/8', '::1'],
    ['10.0.0.0/33', 'fd00::/129', '10.0.0', 'proxy.example', '10.0.0.0/', '10.0.0.0/8/8', 'fe80::1%eth0'],
  ],
  'server.HOST_ID': [
    ['', 'git-1.example_2', 'x'.repeat(64)],
    ['a b', 'ü', 'x'.repeat(65), 'a/b'],
  ],
  'store.PREFIX': [['softquota_2-b'], ['', 'a:b', '{a}', 'x'.repeat(65)]],
  'store.WAIT_REPLICAS': [
    ['0', '2'],
    ['', '-1', 'all'],
  ],
  'store.HOST': [
    [
      'redis://127.0.0.1:6379/0',
      'redis://[::1]',
      'rediss://bob:p%40ss@redis.example:6380/15',
      'redis://:pass@redis.example',
      'redis+sentinel://s1:26379,s2:26379/mymaster/0',
      'redis+sentinel://bob:pass@s1/mymaster',
      'redis://project_redis_1:6379/0',
      'redis://redis.example.:6379/0',
    ],
    [
      '',
      'redis.example:6379',
      'http://redis.example',
      'redis://a,b/0',
      'redis://a/x',
      'redis://a:0',
      'redis://a:65536',
      'redis+sentinel://s1:26379',
      'redis+sentinel://s1,/m',
      'redis+cluster://n1:7000,n2:7000',
      'redis://',
      'redis://a b',
      'redis://p@ss@a',
      'redis://:p%@a',
      'redis+sentinel://s1/m/0/1',
    ],
  ],
  'storage.repos.VISIBILITY': [
    ['export-ok', 'Public', 'private'],
    ['', 'internal'],
  ],
  'storage.repos.OWNER': [
    [
      'path',
      'PATH',
      'file owner',
      'git-config gitweb.owner',
      'git-config a.b c.d',
      'fixed bob',
      'fixed Bob B',
    ],
    [
      '',
      'file',
      'file ../x',
      'file a/b',
      'file ..',
      'git-config owner',
      'git-config a.b_c',
      'fixed',
      'fixed .',
      'path x',
    ],
  ],
  'users.CASE': [
    ['fold', 'keep'],
    ['', 'true'],
  ],
  'scan.WORKERS': [
    ['', '1', '64'],
    ['0', '65', 'all'],
  ],
  'scan.SCHEDULE': [
    ['*/5 * * * *', '@hourly', '0 3 * * MON-FRI'],
    ['', '61 * * * *', '* * * * * *', '0 0 30 2 *', '2027-01-01T00:00:00', 'daily'],
  ],
  'scan.EXCLUDE': [
    ['', '.snapshot', 'a b, c'],
    ['a/b', '.', 'x, ..'],
  ],
  'events.KEEP': [
    ['90d', '12h', '1 w', '30m', '1s', '36500d'],
    ['', '90', '0d', '-1d', '1.5d', '3y', '36501d', '90D'],
  ],
  'security.SECRET_KEY': [
    ['', 'x'.repeat(32), `${'x'.repeat(32)}, ${'y'.repeat(32)}`],
    ['x'.repeat(31), `${'x'.repeat(32)},y`, `y,${'x'.repeat(32)}`],
  ],
  'log.LEVEL': [
    ['debug', 'WARN', 'silent'],
    ['', 'verbose'],
  ],
};

t.test('a key takes what the manual says, and refuses all else', async t => {
  for (const [place, [taken, refused]] of Object.entries(examples)) {
    const section = place.slice(0, place.lastIndexOf('.'));
    const name = place.slice(section.length + 1);
    // A path, so that OWNER and VISIBILITY are about something.
    const head = section === 'storage.repos' ? '[storage.repos]\nPATH = /a/{owner}\n' : '';
    const ini = (value: string) => `${head}[${section}]\n${name} = ${value}\n`;
    for (const value of taken) t.same(faultsOf(t, ini(value)), [], `${place} = ${value}`);
    for (const value of refused) t.equal(faultsOf(t, ini(value)).length, 1, `${place} = ${value} is a fault`);
  }
});

t.test('values come typed and in their units', async t => {
  const config = configOf(
    t,
    `[server]
SOCKET_MODE = 660
ROOT_URL = https://git.example/quota
HTTP_ADDR = [::1]
[quota]
WARN_AT = 90, 50, 90
[events]
KEEP = 12h
[users]
CASE = keep
[storage.repos]
PATH = git/{owner}/{repo}.git, /srv//{owner}/{repo}
OWNER = git-config gitweb.owner
VISIBILITY = private
[storage.packages]
PATH = ../packages/{owner}
`,
  );
  const folder = dirname(config.file ?? '');
  t.match(config.server, { socketMode: 0o660, rootUrl: 'https://git.example/quota/', httpAddr: '::1' });
  t.equal(config.server.socket, `${folder}/data/gate.sock`);
  t.same(config.quota.warnAt, [50, 90]);
  t.equal(config.events.keepMs, 43_200_000);
  t.equal(config.users.foldCase, false);
  t.same(config.storages, [
    {
      kind: 'repos',
      templates: [`${folder}/git/{owner}/{repo}.git`, '/srv/{owner}/{repo}'],
      owner: { by: 'git-config', key: 'gitweb.owner' },
      visibility: 'private',
    },
    {
      kind: 'packages',
      templates: [`${dirname(folder)}/packages/{owner}`],
      owner: { by: 'path' },
      visibility: 'export-ok',
    },
  ]);
});

t.test('nobody can change a configuration', async t => {
  const { quota, storages } = configOf(t, '[storage.repos]\nPATH = /a/{owner}\n');
  t.throws(() => Object.assign(quota, { enabled: true }), TypeError);
  t.throws(() => Object.assign(quota.warnAt, { 0: 1 }), TypeError);
  t.throws(() => Object.assign(storages[0] ?? {}, { kind: 'lfs' }), TypeError);
});
