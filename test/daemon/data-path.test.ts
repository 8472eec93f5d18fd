/** Files in DATA_PATH: the name of this host’s part of the usage, and the keys that encrypt secrets. */

import fs from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Config, loadConfig } from '../../src/config/index.ts';
import { hostIdIn, secretKeysIn } from '../../src/daemon/data-path.ts';
import { temporaryFolder } from '../temporary-folder.ts';

t.test('a host’s name is made once and kept, readable by the daemon only', async t => {
  const directory = temporaryFolder(t);
  const id = hostIdIn(directory);
  t.match(id, /^[0-9a-f-]{36}$/);
  t.equal(hostIdIn(directory), id);
  t.strictSame(fs.readdirSync(directory), ['host.id']);
  t.equal(fs.statSync(join(directory, 'host.id')).mode & 0o777, 0o600);
  t.not(hostIdIn(temporaryFolder(t)), id);
});

t.test('what a daemon left that was killed while making it is in nobody’s way', async t => {
  const directory = temporaryFolder(t);
  for (const draft of [`host.id.${process.pid}`, 'host.id.new-x'])
    fs.writeFileSync(join(directory, draft), '');
  t.match(hostIdIn(directory), /^[0-9a-f-]{36}$/);
});

t.test('a name given by hand is taken, what is no name is a fault', async t => {
  const directory = temporaryFolder(t);
  const file = join(directory, 'host.id');
  fs.writeFileSync(file, ' git-1.example\n');
  t.equal(hostIdIn(directory), 'git-1.example');
  for (const bad of ['', 'a b', 'x'.repeat(65), '\u001b']) {
    fs.writeFileSync(file, bad);
    t.throws(() => hostIdIn(directory), { code: 'configuration', message: /does not contain a host name/ });
  }
  t.throws(() => hostIdIn(join(directory, 'missing')), {
    code: 'configuration',
    message: /cannot be read or created/,
  });
});

function configFor(t: Test, secretKey = '', dataPath = temporaryFolder(t)): Config {
  const env = { SOFTQUOTA__SERVER__DATA_PATH: dataPath, SOFTQUOTA__SECURITY__SECRET_KEY: secretKey };
  const loaded = loadConfig({ env, cwd: dataPath, uid: 0 });
  if (!loaded.ok) throw new Error('the configuration is sound');
  return loaded.config;
}

const given = 'g'.repeat(32);

t.test('a key is made at the first start, for nobody else to read, and used ever after', async t => {
  const config = configFor(t);
  const file = join(config.server.dataPath, 'secret.key');
  const sealed = secretKeysIn(config).seal('hunter2', 'a');
  t.equal(fs.statSync(file).mode & 0o777, 0o600);
  t.ok(fs.readFileSync(file, 'utf8').trim().length >= 32);
  t.equal(secretKeysIn(config).open(sealed, 'a'), 'hunter2');
  t.strictSame(fs.readdirSync(config.server.dataPath), ['secret.key']);
  t.equal(secretKeysIn(configFor(t)).open(sealed, 'a'), null, 'another installation has another one');
});

t.test('where a key is given none is made', async t => {
  const config = configFor(t, given);
  secretKeysIn(config);
  t.strictSame(fs.readdirSync(config.server.dataPath), []);
});

t.test('what was encrypted with the key that was made is read once another one is given', async t => {
  const first = configFor(t);
  const sealed = secretKeysIn(first).seal('hunter2', 'a');
  const second = configFor(t, given, first.server.dataPath);
  t.equal(secretKeysIn(second).open(sealed, 'a'), 'hunter2');
  t.notOk(secretKeysIn(second).isNewest(sealed));
});

t.test('a key put before the one that was made is the newest, and the other one is still read', async t => {
  const config = configFor(t);
  const file = join(config.server.dataPath, 'secret.key');
  const sealed = secretKeysIn(config).seal('hunter2', 'a');
  fs.writeFileSync(file, `${given}\n${fs.readFileSync(file, 'utf8')}`);
  t.equal(secretKeysIn(config).open(sealed, 'a'), 'hunter2');
  t.notOk(secretKeysIn(config).isNewest(sealed));
});

t.test('a file that holds no keys stops the start, and stays as it is', async t => {
  const config = configFor(t);
  const file = join(config.server.dataPath, 'secret.key');
  for (const text of ['', '\n', 'short\n', `${given}\nshort\n`]) {
    fs.writeFileSync(file, text);
    t.throws(() => secretKeysIn(config), {
      code: 'configuration',
      message: /secret\.key does not contain keys/,
    });
    t.equal(fs.readFileSync(file, 'utf8'), text);
  }
});
