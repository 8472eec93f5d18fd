/** `[forge]`: the database that is read, and what it changes elsewhere. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { compareConfigs, merged, printConfig } from '../../src/config/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { configOf, faultsOf, load, loadText } from './written.ts';

const repositories = '[storage.repos]\nPATH = /srv/git/{owner}/{repo}.git\n';

t.test('a forge is named by its kind, and its database by its own file or by an address', async t => {
  t.equal(configOf(t, repositories).forge, null);
  t.strictSame(configOf(t, '[forge]\nKIND = Forgejo\nCONFIG = /etc/forgejo/app.ini\n').forge, {
    kind: 'forgejo',
    configFile: '/etc/forgejo/app.ini',
    database: null,
    ownerLevel: 'top',
    praefect: null,
  });
  const other = '[forge]\nKIND = gitea\nDATABASE = sqlite:/srv/gitea.db\n';
  t.match(configOf(t, other).forge, { database: 'sqlite:/srv/gitea.db' });
  t.match(faultsOf(t, '[forge]\nKIND = gogs\nDATABASE = sqlite:/srv/gogs.db\n'), [
    /gogs needs \[forge\] CONFIG, too/,
  ]);
  t.match(faultsOf(t, '[forge]\nKIND = gitea\n'), [/needs \[forge\] CONFIG or DATABASE/]);
});

t.test('with a forge its database says what is public, unless something else is written', async t => {
  const forge = '[forge]\nKIND = gitea\nDATABASE = sqlite:/srv/gitea.db\n';
  t.equal(configOf(t, repositories).storages[0]?.visibility, 'export-ok');
  t.equal(configOf(t, forge + repositories).storages[0]?.visibility, 'forge');
  t.equal(configOf(t, `${forge}${repositories}VISIBILITY = private\n`).storages[0]?.visibility, 'private');
  t.match(faultsOf(t, `${repositories}VISIBILITY = forge\n`), [/forge needs \[forge\] KIND/]);
  t.match(faultsOf(t, `${forge}[users]\nCASE = keep\n`), [/\[users\] CASE.*Write fold/]);
});

t.test('a forge that comes or goes changes nothing about storage before the next start', async t => {
  const plain = configOf(t, repositories);
  const other = configOf(t, `[forge]\nKIND = gitea\nDATABASE = sqlite:/srv/gitea.db\n${repositories}`);
  t.equal(merged(plain, other).storages[0]?.visibility, 'export-ok');
  t.equal(merged(other, plain).storages[0]?.visibility, 'forge');
  t.equal(merged(other, other).storages[0]?.visibility, 'forge');
});

t.test('an address that is none is refused, and the password in one is never shown', async t => {
  const faults = (address: string) => faultsOf(t, `[forge]\nKIND = gitea\nDATABASE = ${address}\n`);
  t.match(faults('oracle://a:hunter2@b/c'), [/not an address of a database/]);
  t.notMatch(faults('oracle://a:hunter2@b/c').join(), /hunter2/);
  t.match(faults('postgres://db.example/gitea'), [/without a user/]);
  t.match(faults('postgres://gitea:hunter2@db.example/'), [/without the name of a database/]);
  t.match(faults('mysql://gitea@db.example/gitea?charset=utf8'), [/"charset", which is not known/]);
  t.match(faults('sqlite:gitea.db'), [/not an absolute path/]);
  for (const password of ['hunter2', 'hunt@er2']) {
    const address = `postgres://gitea:${password}@db.example/gitea`;
    const printed = printConfig(load(t, `[forge]\nKIND = gitea\nDATABASE = ${address}\n`));
    t.match(printed, 'DATABASE = postgres://********@db.example/gitea');
    t.notMatch(printed, /hunt|er2/);
  }
});

t.test('keys of a forge without a kind are noted', async t => {
  const loaded = loadText(t, `${repositories}[forge]\nOWNER = top\n`);
  t.match(loaded.notes, ['[forge] has no KIND, so its OWNER has no effect.']);
});

t.test('the database of GitLab says whose a repository is; the paths of other forges do', async t => {
  const gitlab = '[forge]\nKIND = gitlab\nCONFIG = /etc/gitlab/gitlab.rb\nOWNER = namespace\n';
  const hashed = (kind: string) => `[storage.${kind}]\nPATH = /srv/@hashed/*/*/{repo}.git\nOWNER = forge\n`;
  const config = configOf(t, gitlab + hashed('repos'));
  t.match(config.forge, { kind: 'gitlab', ownerLevel: 'namespace' });
  t.strictSame(config.storages[0]?.owner, { by: 'forge' });
  t.match(faultsOf(t, gitlab + hashed('lfs')), [/forge is possible only with \[forge\] KIND = gitlab/]);
  const gitea = '[forge]\nKIND = gitea\nCONFIG = /etc/gitea/app.ini\n';
  t.match(faultsOf(t, gitea + hashed('repos')), [/forge is possible only/]);
  t.match(faultsOf(t, '[forge]\nKIND = gitlab\nDATABASE = mysql://a:b@c/d\n'), [
    /GitLab has a PostgreSQL database/,
  ]);
  const praefect = 'PRAEFECT = postgres://a:b@c/praefect\n';
  t.match(configOf(t, `${gitlab}${praefect}PRAEFECT_STORAGE = gitaly-1\n`).forge, {
    praefect: { address: 'postgres://a:b@c/praefect', storage: 'gitaly-1' },
  });
  const file = join(temporaryFolder(t), 'praefect');
  writeFileSync(file, 'postgres://a:b@c/in-a-file\n');
  const env = { SOFTQUOTA__FORGE__PRAEFECT__FILE: file };
  t.match(configOf(t, `${gitlab}PRAEFECT_STORAGE = gitaly-1\n`, env).forge, {
    praefect: { address: 'postgres://a:b@c/in-a-file', storage: 'gitaly-1' },
  });
  t.match(faultsOf(t, gitlab, env), [/PRAEFECT_STORAGE is missing/]);
  t.match(faultsOf(t, gitlab + praefect), [/PRAEFECT_STORAGE is missing/]);
  t.match(faultsOf(t, `${gitlab}PRAEFECT_STORAGE = gitaly-1\n`), [/PRAEFECT is missing/]);
  t.match(faultsOf(t, `${gitea}${praefect}PRAEFECT_STORAGE = gitaly-1\n`), [/Only GitLab has it/]);
  t.match(loadText(t, `${gitea}OWNER = top\n`).notes, [
    '[forge] OWNER has an effect with KIND = gitlab only.',
  ]);
});

t.test('both keys of Praefect are printed, and a change of either is named', async t => {
  const gitlab = '[forge]\nKIND = gitlab\nCONFIG = /etc/gitlab/gitlab.rb\n';
  const ini = (password: string, storage: string) =>
    `${gitlab}PRAEFECT = postgres://git:${password}@db/praefect\nPRAEFECT_STORAGE = ${storage}\n`;
  const loaded = load(t, ini('hunter2', 'gitaly-1'));
  const printed = printConfig(loaded);
  t.match(printed, 'PRAEFECT = postgres://********@db/praefect  # app.ini:4');
  t.match(printed, 'PRAEFECT_STORAGE = gitaly-1  # app.ini:5');
  t.notMatch(printed, /hunter2/);
  const changed = (next: string) =>
    compareConfigs(loaded.config, load(t, next).config)
      .filter(({ section }) => section === 'forge')
      .map(({ name }) => name);
  t.same(changed(ini('hunter2', 'gitaly-2')), ['PRAEFECT_STORAGE']);
  t.same(changed(ini('hunter3', 'gitaly-1')), ['PRAEFECT']);
  t.same(changed(gitlab), ['PRAEFECT', 'PRAEFECT_STORAGE']);
});
