/** doctor takes as a setting what the hooks take, and nothing else. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type SettingName, settingFault, settingNames } from '../../src/doctor/hook-setting.ts';

const hook = readFileSync(new URL('../../hooks/pre-receive', import.meta.url), 'utf8');
/** The hook's own functions, that leave why in $fault. */
const take = (hook.match(/^(?:take|is_seconds)\(\) \{\n[\s\S]*?^\}\n/gm) ?? []).join('');

function isTakenByHook(name: SettingName, value: string): boolean {
  const script = `${take}\nfault=\ntake "$1" "$2"\n[ -z "$fault" ]`;
  try {
    execFileSync('sh', ['-c', script, 'sh', name, value], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const seconds = [
  ...['0.1', '0.5', '0.05', '0.01', '0', '1', '9.99', '10', '59', '59.5', '60', '60.0', '60.5', '61', '100'],
  ...['', '1.', '.5', '1.2.3', '-1', '1e3', '2s', '007'],
];

const values: Readonly<Record<SettingName, readonly string[]>> = {
  socket: ['/run/softquota/gate.sock', '/a b', 'gate.sock', '', './x', '/a\tb', '/a\u001b[31m'],
  onError: ['allow', 'deny', 'last', 'Allow', '', 'never', 'allow '],
  lastFor: ['24h', '1h', '999d', '9d', '', '24', '0h', '01h', '1000h', '1.5h', '90m', '24H', 'h', '24h '],
  timeout: seconds,
  judgeTimeout: seconds,
  client: ['curl', 'nc', 'socat', 'wget', '', 'NC', '/bin/nc'],
};

t.test('a value is at fault where the hooks go by the default, and only there', async t => {
  for (const name of settingNames) {
    for (const value of values[name]) {
      const fault = settingFault(name, value);
      t.equal(fault === null, isTakenByHook(name, value), `${name}=${JSON.stringify(value)}: ${fault}`);
    }
  }
});
