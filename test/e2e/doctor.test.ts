/** softquota doctor: whole installations, broken in one way each, and mended by what doctor says of it. */

import t, { type Test } from 'tap';
import { daemonFaults, type Fault, hookFaults } from './broken.ts';
import { Installation } from './installation.ts';

t.setTimeout(300_000);
t.jobs = 2;

/** An edit that a finding asks for, and the command after it. */
const edit = /^in (\S+) set \[(\S+)\] (\S+) = (.*); then (systemctl \w+ softquota)$/;

/** Does what a mend says, and nothing else. */
async function follow(installation: Installation, mend: string): Promise<void> {
  const [, file, section, key, value, command] = edit.exec(mend) ?? [];
  if (command === undefined) {
    await installation.sh(mend);
    return;
  }
  const line = `${key} = ${value}`;
  const script = `
    sed -i "/^\\[$section\\]/,/^\\[/{/^$key *=/d}" "$file"
    sed -i "s|^\\[$section\\]|&\\n$line|" "$file"
    ${command}`;
  await installation.sh(script, {
    env: { file: `${file}`, section: `${section}`, key: `${key}`, line },
  });
}

/**
 * Every fault alone: nothing is found but it, so that what was mended before it is gone.
 */
async function findsAndMends(t: Test, faults: readonly Fault[]): Promise<void> {
  const installation = await Installation.open(t);
  await installation.sh(tools);
  t.strictSame(await installation.findings(), [], 'at first nothing is wrong');
  let mended = 'nothing';
  for (const fault of faults) {
    await installation.sh(fault.break);
    if (fault.ready !== false) await installation.ready();
    const found = await installation.findings();
    const told = found.map(({ code, message }) => `${code}: ${message}`);
    t.strictSame(
      found.map(({ code }) => code),
      fault.found,
      `${fault.what}, after "${mended}": ${told}`,
    );
    const [first] = found;
    t.ok(first?.message.includes(fault.names), `${told} names ${fault.names}`);
    mended = first?.mend ?? '';
    if (fault.byHand === undefined) await follow(installation, mended);
    else {
      t.match(mended, fault.byHand.says);
      await installation.sh(fault.byHand.does);
    }
    await installation.ready();
  }
  t.strictSame(await installation.findings(), [], `at last nothing is wrong, after "${mended}"`);
}

/** Where packages would come from. */
const tools = `
printf '%s\\n' '#!/bin/sh' 'case $3 in' \\
	'curl) mv /usr/bin/curl.away /usr/bin/curl ;;' \\
	'git) rm /usr/local/bin/git ;;' \\
	esac >/usr/local/sbin/apt-get
chmod 755 /usr/local/sbin/apt-get`;

t.test('what stands between a push and the gate is found broken, and mended as doctor says', t =>
  findsAndMends(t, hookFaults),
);

t.test('what is wrong with the daemon and its settings is found, and mended as doctor says', t =>
  findsAndMends(t, daemonFaults),
);
