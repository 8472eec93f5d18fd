/** Findings from a daemon's answers, and from none. */

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkConfigFiles, checkDaemon } from '../../src/doctor/daemon.ts';
import { type Ask, type Installation, withHangs } from '../../src/doctor/index.ts';
import { SoftquotaError } from '../../src/errors.ts';
import { version } from '../../src/version.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { context, findingsOf, installationIn, reportOf, write } from './folder.ts';

function installation(t: Test, admin: Ask, configOption: string | null = null): Installation {
  const about = { admin, gate: admin, context: { ...context, configOption } };
  return installationIn(temporaryFolder(t), '[server]\nDATA_PATH = data\n', about);
}

const answering =
  (told: { version?: string; findings?: unknown } = {}): Ask =>
  async path => ({
    status: 200,
    json: path === '/version' ? { version: told.version ?? version } : (told.findings ?? []),
  });

const failing =
  (code: 'unreachable' | 'not_permitted'): Ask =>
  async () => {
    throw new SoftquotaError(code, `no luck at /run/\u001b[31m.sock`);
  };

t.test('a daemon that is well is heard, and nothing is wrong', async t => {
  const { findings } = await reportOf(async report =>
    t.equal(await checkDaemon(report, installation(t, answering())), true),
  );
  t.strictSame(findings, []);
});

t.test('a daemon of another version is named', async t => {
  const older = installation(t, answering({ version: '0.0.1' }));
  const { findings } = await reportOf(report => checkDaemon(report, older));
  t.match(findings, [
    { code: 'restart_needed', message: `the daemon has version 0.0.1, this command ${version}` },
  ]);
});

t.test("the daemon's own findings name the configuration that doctor was given", async t => {
  const mends: Readonly<Record<string, string>> = {
    'chmod a /b && softquota scan': 'chmod a /b && softquota scan --config X',
    'softquota store repair --known  # restores': 'softquota store repair --config X --known  # restores',
    'softquota notices send-again --all': 'softquota notices send-again --config X --all',
    'softquota events --kind unasked  # lists': 'softquota events --config X --kind unasked  # lists',
    'softquota user edit OLD --name NEW': 'softquota user edit --config X OLD --name NEW',
    'or run softquota reclaim now and then': 'or run softquota reclaim --config X now and then',
    'systemctl enable --now softquota-worker  # or run softquota worker as git':
      'start the worker  # or run softquota worker --config X as git',
  };
  const findings = Object.keys(mends).map(mend => ({
    code: 'unread',
    severity: 'wrong',
    message: 'x',
    mend,
  }));
  const named = installation(t, answering({ findings }), '/etc/a b.ini');
  const looked = await reportOf(report => checkDaemon(report, named));
  t.strictSame(
    looked.findings.map(({ mend }) => mend.replace("'/etc/a b.ini'", 'X')),
    Object.values(mends),
  );
});

t.test('no daemon is a fault; one that may not be asked is only not looked at', async t => {
  const look = (code: 'unreachable' | 'not_permitted') =>
    reportOf(async report =>
      t.equal(await checkDaemon(report, installation(t, failing(code))), false, 'it is not heard'),
    );
  t.match(await look('unreachable'), {
    findings: [
      { code: 'daemon_away', message: /^no luck at \/run\/\\u\{1b\}\[31m\.sock; what only the daemon knows/ },
    ],
  });
  t.match(await look('not_permitted'), { findings: [], missed: [/^the daemon, at /] });
});

t.test('a file with a secret is for the daemon and the worker, and not for all who ask the gate', t => {
  const folder = temporaryFolder(t);
  const ini = '[server]\nDATA_PATH = data\n[store]\nHOST = redis://:secret@127.0.0.1\n';
  const { loaded } = installationIn(folder, ini);
  const file = join(folder, 'app.ini');
  const [gate, trusted] = ['gate', 'trusted'].map(name => write(join(folder, `data/${name}.sock`), ''));
  const [daemon, git, pushers] = [1, 2, 3];
  const found = (mode: number, group: number) => {
    chmodSync(file, mode);
    chownSync(file, 0, group);
    return findingsOf(report => checkConfigFiles(report, loaded));
  };
  chownSync(join(folder, 'data'), daemon, daemon);
  chownSync(`${gate}`, daemon, pushers);
  chmodSync(`${gate}`, 0o660);
  chownSync(`${trusted}`, daemon, pushers);
  chmodSync(`${trusted}`, 0o600);
  const alone = [{ code: 'exposed', mend: `chown daemon ${file} && chmod 0600 ${file}` }];
  t.match(found(0o644, 0), alone);
  t.match(found(0o640, pushers), alone);
  chownSync(`${trusted}`, daemon, git);
  chmodSync(`${trusted}`, 0o660);
  const mend = `chown daemon:bin ${file} && chmod 0640 ${file}`;
  t.match(found(0o644, 0), [{ message: /^anybody can read the secret in /, mend }]);
  t.match(found(0o640, pushers), [
    { code: 'exposed', message: /^everybody who may ask the gate can read the secret in /, mend },
  ]);
  execFileSync('sh', ['-c', mend]);
  t.strictSame(
    findingsOf(report => checkConfigFiles(report, loaded)),
    [],
  );
  chownSync(`${trusted}`, daemon, pushers);
  t.strictSame(found(0o640, pushers), [], 'all of them are trusted');
  t.end();
});

t.test('an address without a password is no secret', t => {
  const folder = temporaryFolder(t);
  const exposed = (ini: string) => {
    const { loaded } = installationIn(folder, `[server]\nDATA_PATH = data\n${ini}\n`);
    chmodSync(join(folder, 'app.ini'), 0o644);
    return findingsOf(report => checkConfigFiles(report, loaded)).length;
  };
  const sqlite = '[forge]\nKIND = gitea\nDATABASE = sqlite:/srv/my data/gitea.db';
  for (const ini of [sqlite, '[lfs]\nUPSTREAM = http://127.0.0.1:3000/?x=1']) t.equal(exposed(ini), 0, ini);
  for (const ini of [
    '[lfs]\nUPSTREAM = http://bob:hunter2@127.0.0.1:3000/',
    '[store]\nHOST = " redis://:x@h"',
  ])
    t.equal(exposed(ini), 1, ini);
  t.end();
});

t.test('an examination that did not end is no installation without problems', async t => {
  t.match(withHangs({ result: null, hangs: [] }), {
    findings: [{ code: 'not_looked', severity: 'wrong', message: /nothing was checked/ }],
    checked: [],
  });
});
