import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { type Config, compareConfigs, formatFaults, loadConfig, merged } from '../../src/config/index.ts';
import { lengthOf } from '../run-length.ts';
import { configText } from './arbitraries.ts';
import { configOf, folderWith } from './written.ts';

const changes = (old: Config, next: Config) =>
  compareConfigs(old, next).map(
    ({ section, name, reloads }) => `${section}.${name} ${reloads ? 'reload' : 'restart'}`,
  );

t.test('a change is named, with whether a reload takes it', async t => {
  const old = configOf(t, '[server]\nDATA_PATH = /d\n');
  const ini = `[server]
DATA_PATH = /d
HTTP_PORT = 1
[quota.default]
TOTAL = 1G
[storage.lfs]
PATH = /a/{owner}
[log]
LEVEL = debug
FORMAT = pretty
`;
  t.same(changes(old, configOf(t, ini)), [
    'quota.default.TOTAL reload',
    'storage.lfs.PATH reload',
    'server.HTTP_PORT restart',
    'log.LEVEL reload',
    'log.FORMAT restart',
  ]);
});

t.test('the same value in other words is no change', async t => {
  const old = configOf(t, '[server]\nDATA_PATH = /d\n[quota]\nENABLED = yes\n[quota.default]\nTOTAL = 1G\n');
  const next = configOf(
    t,
    '[server]\nDATA_PATH = /d/\n[quota]\nENABLED = 1\n[quota.default]\nTOTAL = 1000M\n',
  );
  t.same(changes(old, next), []);
});

t.test('a daemon that reloads has all of the new configuration but what takes a restart', async t => {
  const folder = folderWith(t, {});
  const read = (text: string): Config => {
    writeFileSync(join(folder, 'app.ini'), text);
    const loaded = loadConfig({ file: 'app.ini', env: {}, cwd: folder, uid: 1000 });
    if (!loaded.ok) throw new Error(formatFaults(loaded.faults));
    return loaded.config;
  };
  fc.assert(
    fc.property(configText, configText, (oldText, nextText) => {
      const old = read(oldText);
      const next = read(nextText);
      const now = merged(old, next);
      const all = changes(old, next);
      t.same(
        changes(old, now),
        all.filter(change => change.endsWith('reload')),
      );
      t.same(
        changes(now, next),
        all.filter(change => change.endsWith('restart')),
      );
      t.ok(Object.isFrozen(now) && Object.isFrozen(now.scan) && Object.isFrozen(now.log));
    }),
    { numRuns: lengthOf(70, 200) },
  );
});

t.test('what a host walks waits with the store or the forge that it is for', async t => {
  const shared = `[server]
HOST_ID = a
[security]
SECRET_KEY = ${'x'.repeat(40)}
[store]
ADAPTER = redis
[scan]
ROOTS = none
`;
  const repos = '[storage.repos]\nPATH = /srv/git/{owner}/{repo}.git\n';
  const alone = configOf(t, repos);
  const host = configOf(t, `${shared}${repos}[storage]\nFOLLOW = /disk2\n`);
  for (const [old, next] of [
    [alone, host],
    [host, alone],
  ] as const) {
    const { storage, storages, scan } = merged(old, next);
    t.same({ storage, storages, scan }, { storage: old.storage, storages: old.storages, scan: old.scan });
  }
  const all = configOf(t, `${shared.replace('none', 'all')}${repos}`);
  t.same(merged(host, all), { ...all, file: host.file, server: host.server }, 'and no longer');
  const gitea = configOf(t, `[forge]\nKIND = gitea\nDATABASE = sqlite:/srv/gitea.db\n${repos}`);
  const gitlab = configOf(t, `[forge]\nKIND = gitlab\nCONFIG = /etc/gitlab.rb\n${repos}OWNER = forge\n`);
  t.same(merged(gitea, gitlab).storages, gitea.storages);
});
