import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { compareConfigs, loadAgain } from '../../src/config/index.ts';
import { folderWith, load } from './written.ts';

const whole = `; limits
[quota]
ENABLED = true
REFUSE_WHEN = reached
[quota.default]
TOTAL = 100M
[storage.repos]
PATH = /srv/git/{owner}/{repo}.git
[storage.packages]
PATH = /srv/packages/{owner}
[disk]
MIN_FREE = 5 %
[webhook.chat]
URL = https://chat.example/hook
SECRET = whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
[log]
LEVEL = debug
[gate]
PRESET = verdaccio
ON_ERROR = deny
[hooks]
KEEP = true
`;

function places(t: Test) {
  const cwd = folderWith(t, { 'app.ini': whole });
  const where = { file: 'app.ini', env: {}, cwd, uid: 1000, systemFile: join(cwd, 'none') };
  const before = load(t, whole);
  const again = (text: string) => {
    writeFileSync(join(cwd, 'app.ini'), text);
    return loadAgain(where, before);
  };
  return { before, again };
}

t.test('a file that is cut anywhere changes no limit, storage, disk or webhook', async t => {
  const { before, again } = places(t);
  for (let length = 0; length <= whole.length; length++) {
    const loaded = again(whole.slice(0, length));
    if (!loaded.ok) continue;
    const changed = compareConfigs(before.config, loaded.config).map(({ section }) => section);
    t.strictSame(
      changed.filter(section => !['log', 'server'].includes(section)),
      [],
      `the first ${length} bytes`,
    );
  }
});

t.test('a refusal says what is gone and what to do', async t => {
  const { again } = places(t);
  const message = (text: string) => {
    const loaded = again(text);
    return loaded.ok ? null : loaded.faults.map(fault => fault.message).join();
  };
  t.match(
    message(''),
    /^\[quota\] ENABLED, \[quota\] REFUSE_WHEN, \[quota\.default\] TOTAL and \d more was there/,
  );
  t.match(
    message(whole.replace('TOTAL = 100M\n', '')),
    /^\[quota\.default\] TOTAL was there before and is not any more/,
  );
  t.match(
    message(whole.replace(/\[webhook[^[]*/, '')),
    /^\[webhook\.chat\] URL, \[webhook\.chat\] SECRET was there before/,
  );
  t.match(message(whole.slice(0, -1)), /^the last line has no end, which it had before/);
  t.match(message(whole.replace('ENABLED = true', 'ENABLED')), /KEY = value/);
  t.equal(message(whole.replace('ENABLED = true', 'ENABLED = false')), null, 'a default that is written');
  t.equal(message(whole.replace('LEVEL = debug\n', '')), null, 'the level of the log opens nothing');
});

t.test('a missing end of the last line is noted at the start', async t => {
  t.match(load(t, whole.slice(0, -1)).notes, [/^The last line of .*app\.ini has no end/]);
});
