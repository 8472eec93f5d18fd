import { execFileSync } from 'node:child_process';
import { chownSync, lchownSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { formatFaults, loadConfig, variableOf, type Where } from '../../src/config/index.ts';
import { configOf, faultsOf, folderWith, load } from './written.ts';

const total = (bytes: number) => `[quota.default]\nTOTAL = ${bytes}\n`;
const totalVariable = 'SOFTQUOTA__QUOTA_0X2E_DEFAULT__TOTAL';

/** Four places for a file, each saying another TOTAL; `uid` is nobody's. */
function places(t: Test): Where & { readonly cwd: string; readonly systemFile: string } {
  const cwd = folderWith(t, {
    'named.ini': total(1),
    'variable.ini': total(2),
    'app.ini': total(3),
    'system.ini': total(4),
  });
  return { env: {}, cwd, uid: 1000, systemFile: join(cwd, 'system.ini') };
}

/** TOTAL, or the faults. */
function outcome(where: Where): number | string {
  const loaded = loadConfig(where);
  return loaded.ok ? loaded.config.quota.totalBytes : formatFaults(loaded.faults);
}

t.test('--config comes before SOFTQUOTA_CONFIG, ./app.ini and the system file, in this order', async t => {
  const where = places(t);
  const env = { SOFTQUOTA_CONFIG: 'variable.ini' };
  t.equal(outcome({ ...where, env, file: 'named.ini' }), 1);
  t.equal(outcome({ ...where, env }), 2);
  t.equal(outcome({ ...where, env: { SOFTQUOTA_CONFIG: '' } }), 3, 'an empty variable names nothing');
  t.equal(outcome({ ...where, cwd: folderWith(t, {}) }), 4);
});

t.test('without any file the environment says everything, relative to the working directory', async t => {
  const cwd = folderWith(t, {});
  const env = { [totalVariable]: '5M', SOFTQUOTA__SERVER__DATA_PATH: 'd' };
  const loaded = loadConfig({ env, cwd, uid: 1000, systemFile: join(cwd, 'none') });
  t.match(loaded, {
    ok: true,
    config: { file: null, quota: { totalBytes: 5_000_000 }, server: { dataPath: join(cwd, 'd') } },
  });
});

t.test('without anything it says where it looked and what to do', async t => {
  const cwd = folderWith(t, {});
  const message = outcome({ env: {}, cwd, uid: 1000, systemFile: '/nowhere/app.ini' });
  t.match(message, `no configuration found, neither ./app.ini (in ${cwd}) nor /nowhere/app.ini.`);
  t.match(message, /app\.ini\.example, .* --config FILE or SOFTQUOTA_CONFIG/);
});

t.test('a file that is named must be there and readable', async t => {
  const where = places(t);
  t.equal(outcome({ ...where, file: 'none.ini' }), 'none.ini: cannot be used: there is no such file.');
  t.equal(
    outcome({ ...where, env: { SOFTQUOTA_CONFIG: 'none.ini' } }),
    'SOFTQUOTA_CONFIG (none.ini): cannot be used: there is no such file.',
  );
  t.equal(outcome({ ...where, file: '.' }), '.: cannot be used: it is a directory, not a file.');
  t.equal(outcome({ ...where, file: '/dev/null' }), '/dev/null: cannot be used: it is not a regular file.');
  t.equal(outcome({ ...where, file: 'named.ini/x' }), 'named.ini/x: cannot be used: there is no such file.');
  t.match(outcome({ ...where, file: 'a\0b' }), /its name has a NUL character/);
});

t.test('a pipe into which nobody writes is refused, not waited for', async t => {
  const cwd = folderWith(t, {});
  execFileSync('mkfifo', [join(cwd, 'app.ini')]);
  t.match(outcome({ env: {}, cwd, uid: 1000 }), /it is not a regular file/);
});

t.test('a file that is not text, or far too long, is refused as a whole', async t => {
  const cwd = folderWith(t, {
    'latin1.ini': Buffer.from('[hooks]\nCONTACT = \xe4\n', 'latin1'),
    'utf16.ini': Buffer.from('\ufeff[hooks]\n', 'utf16le'),
    'long.ini': '#'.repeat(1024 * 1024 + 1),
    'full.ini': '#'.repeat(1024 * 1024),
  });
  const where = { env: {}, cwd, uid: 1000 };
  t.match(outcome({ ...where, file: 'latin1.ini' }), /it is not UTF-8 text/);
  t.match(outcome({ ...where, file: 'utf16.ini' }), /it is not UTF-8 text/);
  t.match(outcome({ ...where, file: 'long.ini' }), /it is larger than 1024 KiB/);
  t.equal(outcome({ ...where, file: 'full.ini' }), -1);
});

t.test('root passes over an ./app.ini of somebody else, and says so', async t => {
  const where = places(t);
  const mine = process.getuid?.() === 0;
  const local = join(where.cwd, 'app.ini');
  if (mine) {
    t.equal(outcome({ ...where, uid: 0 }), 3, "root's own file counts");
    chownSync(local, 1000, 1000);
  }
  const loaded = loadConfig({ ...where, uid: 0 });
  t.match(loaded, { ok: true, config: { quota: { totalBytes: 4 } } });
  t.match(loaded.notes, [`${local} is ignored, because root does not own it. To use it nevertheless,`]);
  t.equal(outcome({ ...where, uid: 0, file: 'app.ini' }), 3, 'a file that is named counts');
  t.equal(outcome(where), 3, 'anybody else uses it');
});

t.test('root passes over an ./app.ini that is a link of somebody else', async t => {
  const cwd = folderWith(t, {});
  symlinkSync('/etc/hostname', join(cwd, 'app.ini'));
  if (process.getuid?.() === 0) lchownSync(join(cwd, 'app.ini'), 1000, 1000);
  const loaded = loadConfig({ env: {}, cwd, uid: 0, systemFile: join(cwd, 'none') });
  t.match(loaded, { ok: false, notes: [/is ignored/] });
});

t.test('an ./app.ini that cannot be read hides no system one, and is a fault without it', async t => {
  const cwd = folderWith(t, { 'system.ini': total(4) });
  mkdirSync(join(cwd, 'app.ini'));
  const where = { env: {}, cwd, uid: 1000, systemFile: join(cwd, 'system.ini') };
  t.match(loadConfig(where), {
    ok: true,
    config: { quota: { totalBytes: 4 } },
    notes: [
      `${join(cwd, 'app.ini')} cannot be used: it is a directory, not a file. ${where.systemFile} is used instead.`,
    ],
  });
  t.match(outcome({ ...where, systemFile: join(cwd, 'none.ini') }), /it is a directory/);
});

t.test('the environment overrides the file, key by key', async t => {
  const ini = '[quota]\nMODE = report\nENABLED = maybe\n[log]\nLEVEL = debug\n';
  const env = { SOFTQUOTA__QUOTA__ENABLED: 'true', SOFTQUOTA__log__Level: 'warn' };
  const { quota, log } = configOf(t, ini, env);
  t.match({ quota, log }, { quota: { mode: 'report', enabled: true }, log: { level: 'warn' } });
});

t.test('a value from the environment stands for itself', async t => {
  t.equal(configOf(t, '', { SOFTQUOTA__HOOKS__CONTACT: '"a" # b' }).hooks.contact, '"a" # b');
  t.equal(configOf(t, '', { SOFTQUOTA__HOOKS__CONTACT: '' }).hooks.contact, null);
});

t.test('with __FILE the value is what a file holds, without its last newline', async t => {
  const path = '/ kept here#;"';
  const folder = folderWith(t, { key: `${path}\n`, crlf: `${path}\r\n`, bare: path, two: `${path}\n\n` });
  const pathIn = (name: string) =>
    configOf(t, '', { SOFTQUOTA__SERVER__DATA_PATH__FILE: join(folder, name) }).server.dataPath;
  t.equal(pathIn('key'), path);
  t.equal(pathIn('crlf'), path);
  t.equal(pathIn('bare'), path);
  t.equal(pathIn('two'), `${path}\n`);
});

t.test('keys for secrets stand behind one another, the newest first', async t => {
  const [newest, previous] = ['n'.repeat(32), 'p'.repeat(40)];
  const keysIn = (text: string) =>
    configOf(t, '', { SOFTQUOTA__SECURITY__SECRET_KEY: text }).security.secretKeys;
  t.same(keysIn(''), []);
  t.same(keysIn(newest), [newest]);
  for (const between of [',', ' , ', '\n', ',\r\n'])
    t.same(keysIn(newest + between + previous), [newest, previous]);
  t.match(faultsOf(t, '', { SOFTQUOTA__SECURITY__SECRET_KEY: `${newest},short` }), [
    /without a comma; previous keys/,
  ]);
});

t.test('a __FILE that cannot be read, and both forms for one key, are faults of the variable', async t => {
  const name = 'SOFTQUOTA__SECURITY__SECRET_KEY';
  t.same(faultsOf(t, '', { [`${name}__FILE`]: '/none' }), [
    `${name}__FILE (/none): cannot be used: there is no such file.`,
  ]);
  t.same(faultsOf(t, '', { [`${name}__FILE`]: '' }), [`${name}__FILE: cannot be used: no file is named.`]);
  t.same(faultsOf(t, '', { [`${name}__FILE`]: '/none', [name]: 'k'.repeat(32) }), [
    `${name}__FILE: sets the same key as ${name}. Keep one of the two.`,
  ]);
  t.equal(faultsOf(t, '', { SOFTQUOTA__LOG__LEVEL: 'warn', SOFTQUOTA__log__level: 'info' }).length, 1);
});

t.test('a fault of the environment names the variable', async t => {
  t.same(faultsOf(t, '', { [totalVariable]: 'lots' }), [
    `${totalVariable}: [quota.default] TOTAL = "lots": not a size. Write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit.`,
  ]);
  const folder = folderWith(t, { total: 'lots\n' });
  t.match(
    faultsOf(t, '', { [`${totalVariable}__FILE`]: join(folder, 'total') })[0],
    `${totalVariable}__FILE (${folder}/total): [quota.default] TOTAL = "lots": not a size.`,
  );
});

t.test('a variable that sets nothing known is a fault, with the one that was meant', async t => {
  const message = (name: string) => faultsOf(t, '', { [name]: 'secret' }).join('\n');
  t.equal(
    message('SOFTQUOTA__QUOTA__ENABLD'),
    'SOFTQUOTA__QUOTA__ENABLD: sets nothing known. Did you mean SOFTQUOTA__QUOTA__ENABLED?',
  );
  t.match(message('SOFTQUOTA__QUOTA_DEFAULT__TOTAL'), `Did you mean ${totalVariable}?`);
  t.match(
    message('SOFTQUOTA__SECURITY__SECRET_KY__FILE'),
    'Did you mean SOFTQUOTA__SECURITY__SECRET_KEY__FILE?',
  );
  t.match(message('SOFTQUOTA__X'), 'Write SOFTQUOTA__SECTION__KEY');
  t.match(message('SOFTQUOTA____FILE'), 'sets nothing known');
  t.same(faultsOf(t, '', { SOFTQUOTA_URL: 'x', SOFTQUOTA_CONFIG: 'x', softquota__quota__enabled: 'x' }), []);
});

t.test('a variable that other programs would take for a setting is noted with the right name', async t => {
  const env = {
    SOFTQUOTA_QUOTA_ENABLED: 'true',
    SOFTQUOTA_QUOTA_DEFAULT_TOTAL: '5',
    softquota__mail__password__file: '/run/mail',
    SOFTQUOTA_CONFIG: 'app.ini',
    SOFTQUOTA_TOKEN: 'x',
  };
  const cwd = folderWith(t, {
    'app.ini': '[quota]\nENABLED = false\n[storage.repos]\nPATH = /a/{owner}/{repo}\n',
  });
  const loaded = loadConfig({ env, cwd, uid: 1000, systemFile: join(cwd, 'none') });
  t.strictSame(loaded.notes, [
    'The variable SOFTQUOTA_QUOTA_DEFAULT_TOTAL sets nothing. Write SOFTQUOTA__QUOTA_0X2E_DEFAULT__TOTAL.',
    'The variable SOFTQUOTA_QUOTA_ENABLED sets nothing. Write SOFTQUOTA__QUOTA__ENABLED.',
    'The variable softquota__mail__password__file sets nothing. Write SOFTQUOTA__MAIL__PASSWORD__FILE.',
  ]);
});

t.test('every key has a variable', async t => {
  t.equal(
    variableOf('storage.attachments.issues', 'PATH'),
    'SOFTQUOTA__STORAGE_0X2E_ATTACHMENTS_0X2E_ISSUES__PATH',
  );
  const env = { [variableOf('storage.attachments.issues', 'PATH')]: '/a/{owner}' };
  t.match(configOf(t, '', env).storages, [{ kind: 'attachments.issues', templates: ['/a/{owner}'] }]);
});

t.test('what is allowed but leads nowhere is noted', async t => {
  t.match(load(t, '[quota]\nENABLED = true\n').notes, [/^No \[storage\.\*\] section has a PATH/]);
  t.match(load(t, '[storage.lfs]\nOWNER = fixed bob\n').notes, [/^\[storage\.lfs\] has no PATH/]);
  t.same(load(t, '[quota]\nENABLED = true\n[storage.lfs]\nPATH = /a/{owner}\n').notes, []);
});
