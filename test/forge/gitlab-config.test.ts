/** Address of GitLab's database, by its own configuration. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { databaseOfGitlab } from '../../src/forge/gitlab/config.ts';
import { folderWith } from '../config/written.ts';

function addressIn(t: Test, name: string, text: string, env: Readonly<Record<string, string>> = {}) {
  return databaseOfGitlab(join(folderWith(t, { [name]: text }), name), env);
}

t.test('a package’s gitlab.rb says where the database is, or leaves it where the package has it', async t => {
  const rb = (text: string, env = {}) => addressIn(t, 'gitlab.rb', text, env);
  const packaged = {
    engine: 'postgres',
    host: '/var/opt/gitlab/postgresql',
    port: 5432,
    user: 'gitlab',
    password: null,
    database: 'gitlabhq_production',
    tls: 'disable',
    schema: null,
  };
  t.strictSame(rb("external_url 'https://git.example'\n# gitlab_rails['db_host'] = 'no'\n"), packaged);
  const text = `
gitlab_rails['db_host'] = "db.example" # the other host
gitlab_rails['db_port'] = 6432
  gitlab_rails["db_username"] = 'reader'
gitlab_rails['db_password'] = 'it\\\\'s #1; "so"'
gitlab_rails['db_sslmode'] = 'require'
`;
  const written = {
    host: 'db.example',
    port: 6432,
    user: 'reader',
    password: 'it\'s #1; "so"',
    tls: 'require',
  };
  t.strictSame(rb(text.replace("\\\\'", "\\'")), { ...packaged, ...written });
  t.match(rb("gitlab_rails['databases']['main']['db_host'] = 'db'\n"), { host: 'db' });

  const env = { GITLAB_OMNIBUS_CONFIG: "external_url 'x'; gitlab_rails['db_host'] = 'inside'; puts(1)" };
  t.match(rb('', env), { host: 'inside' });
  t.match(rb("gitlab_rails['db_host'] = 'file'\n", env), { host: 'file' }, 'the file comes later');
});

t.test('what is computed in gitlab.rb is named and not run', async t => {
  const password = (value: string) => () =>
    addressIn(t, 'gitlab.rb', `gitlab_rails['db_password'] = ${value}\n`);
  for (const value of ["ENV['X']", 'File.read("/etc/secret")', '"#{secret}"', '"a" + "b"']) {
    t.throws(password(value), /gitlab_rails\['db_password'\] is computed there/, value);
  }
});

t.test('database.yml has main below production, or all of it there in older versions', async t => {
  const yml = (text: string) => addressIn(t, 'database.yml', text);
  const main = `# comment
production:
  main:
    adapter: postgresql
    encoding: unicode
    database: gitlabhq_production
    username: git
    password: "secure # \\"password\\""
    host: localhost
  ci:
    adapter: postgresql
    database: other
    username: other

development:
  main:
    adapter: postgresql
    username: dev
`;
  t.match(yml(main), {
    host: 'localhost',
    user: 'git',
    password: 'secure # "password"',
    database: 'gitlabhq_production',
  });
  const flat =
    'production:\n  adapter: postgresql\n  database: gitlab\n  username: git\n  port: 6432 # here\n';
  t.match(yml(flat), { user: 'git', database: 'gitlab', port: 6432, password: null });
  t.throws(() => yml(`${flat}  password: <%= ENV['X'] %>\n`), /password is computed there/);
  t.throws(
    () => yml('production:\n  adapter: mysql2\n  database: a\n  username: b\n'),
    /mysql2 is not postgresql/,
  );
  t.throws(() => yml('development:\n  database: a\n'), /no username or no database/);
  t.throws(() => databaseOfGitlab('/nowhere/gitlab.rb', {}), /\/nowhere\/gitlab\.rb: is not there/);
});
