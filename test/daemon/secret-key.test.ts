import fs from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Config, loadConfig } from '../../src/config/index.ts';
import { secretKeysIn } from '../../src/daemon/data-path.ts';
import { temporaryFolder } from '../temporary-folder.ts';

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
