/** Address of the database, by the forge's own configuration and the variables of its container image. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { databaseOfAppIni } from '../../src/forge/app-ini.ts';
import { folderWith } from '../config/written.ts';

function addressIn(t: Test, text: string, env: Readonly<Record<string, string>> = {}) {
  const folder = folderWith(t, { 'app.ini': text });
  return databaseOfAppIni('gitea', join(folder, 'app.ini'), env);
}

const server = '[database]\nDB_TYPE = postgres\nNAME = gitea\nUSER = git\n';

t.test('a server is named by host and port, by an address, or by the place of its socket', async t => {
  const usual = {
    engine: 'postgres',
    user: 'git',
    database: 'gitea',
    password: null,
    tls: 'disable',
    schema: null,
  };
  const at = (host: string) => addressIn(t, `${server}HOST = ${host}\n`);
  t.strictSame(addressIn(t, server), { ...usual, host: '127.0.0.1', port: 5432 });
  t.strictSame(at('db.example:6432'), { ...usual, host: 'db.example', port: 6432 });
  t.strictSame(at('[::1]:6432'), { ...usual, host: '::1', port: 6432 });
  t.strictSame(at('/run/postgresql'), { ...usual, host: '/run/postgresql', port: 5432 });
  t.match(addressIn(t, server.replace('postgres', 'mysql')), { engine: 'mysql', port: 3306 });
  t.match(addressIn(t, `${server}SSL_MODE = verify-full\nSCHEMA = forge\n`), {
    tls: 'verify-full',
    schema: 'forge',
  });
  t.throws(() => addressIn(t, `${server}SSL_MODE = maybe\n`), /SSL_MODE is not known/);
  t.throws(() => addressIn(t, server.replace('NAME = gitea', '')), /NAME or USER is missing/);
  t.throws(
    () => addressIn(t, server.replace('postgres', 'mssql')),
    /DB_TYPE = mssql is none of sqlite3, postgres, mysql/,
  );
});

t.test('a password in backticks stands for itself', async t => {
  t.match(addressIn(t, `${server}PASSWD = \`a;b#c"d\`\n`), { password: 'a;b#c"d' });
});

t.test('a SQLite file is found where the forge looks for it', async t => {
  const path = (text: string) => {
    const address = addressIn(t, text);
    return address.engine === 'sqlite' ? address.path : null;
  };
  t.equal(path('WORK_PATH = /srv/forge\n'), '/srv/forge/data/gitea.db');
  t.equal(path('WORK_PATH = /srv/forge\n[server]\nAPP_DATA_PATH = /var/forge\n'), '/var/forge/gitea.db');
  t.equal(path('WORK_PATH = /srv/forge\n[database]\nPATH = data/other.db\n'), '/srv/forge/data/other.db');
  t.throws(() => path('[database]\nPATH = %(WORK_PATH)s/gitea.db\n'), /PATH refers to another value/);
});

t.test('Forgejo has a name of its own for the file, but where it comes from Gitea', t => {
  const folder = folderWith(t, { 'app.ini': '', 'old/app.ini': '', 'old/data/gitea.db': '' });
  const at = (file: string) => databaseOfAppIni('forgejo', join(folder, file), {});
  t.match(at('app.ini'), { path: join(folder, 'data/forgejo.db') });
  t.match(at('old/app.ini'), { path: join(folder, 'old/data/gitea.db') });
  t.end();
});

t.test('variables of a container image win over the file, also those that name a file', async t => {
  const text = `${server}PASSWD = written\n`;
  t.match(addressIn(t, text, { GITEA__database__PASSWD: 'given' }), { password: 'given' });
  t.match(addressIn(t, text, { FORGEJO__DATABASE__HOST: 'db:1' }), {
    host: 'db',
    port: 1,
    password: 'written',
  });
  const folder = folderWith(t, { password: 'from-a-file\n' });
  const named = { GITEA__database__PASSWD__FILE: join(folder, 'password') };
  t.match(addressIn(t, text, named), { password: 'from-a-file' });
});

t.test('a file that is not there, or may not be read, is named', async t => {
  t.throws(() => databaseOfAppIni('gitea', '/nowhere/app.ini', {}), /^\/nowhere\/app\.ini: is not there/);
  t.throws(() => databaseOfAppIni('gitea', '/proc', {}), /\/proc: is not a file/);
});

t.test('Gogs has other names for the type and the password, and variables in its values', async t => {
  const gogs = (text: string, env: Readonly<Record<string, string>> = {}) => {
    const folder = folderWith(t, { 'custom/conf/app.ini': text });
    return { folder, address: databaseOfAppIni('gogs', join(folder, 'custom/conf/app.ini'), env) };
  };
  const server = '[database]\nHOST = db.example:1\nNAME = gogs\nUSER = git\n';
  t.match(gogs(`${server}TYPE = mysql\nPASSWORD = \`a#b\`\n`).address, { engine: 'mysql', password: 'a#b' });
  t.match(gogs(`${server}DB_TYPE = postgres\nPASSWD = old\n`).address, {
    engine: 'postgres',
    password: 'old',
  });
  const variable = `${server}PASSWORD = \${SECRET}-$REST\n`;
  t.match(gogs(variable, { SECRET: 'a', REST: 'b' }).address, { engine: 'postgres', password: 'a-b' });
  t.throws(() => gogs(variable), /\[database\] PASSWORD has the variable SECRET, which the daemon/);
  t.throws(() => gogs('[database]\nTYPE = mssql\n'), /\[database\] TYPE = mssql is none of/);
  const { folder, address } = gogs('[database]\nTYPE = sqlite3\n');
  t.strictSame(address, { engine: 'sqlite', path: join(folder, 'data/gogs.db') });
  t.strictSame(gogs('[database]\nTYPE = sqlite3\n', { GOGS_WORK_DIR: '/srv/gogs' }).address, {
    engine: 'sqlite',
    path: '/srv/gogs/data/gogs.db',
  });

  const volume = folderWith(t, {
    'gogs/conf/app.ini': '[database]\nTYPE = sqlite3\nPATH = /data/gogs/data/gogs.db\n',
  });
  t.strictSame(databaseOfAppIni('gogs', join(volume, 'gogs/conf/app.ini'), {}), {
    engine: 'sqlite',
    path: join(volume, 'gogs/data/gogs.db'),
  });
});
