/**
 * softquota doctor: whole installations, broken in one way each, and mended by what doctor says of it. The
 * ordinary run has every second or third of them.
 */

import t, { type Test } from 'tap';
import { some } from '../run-length.ts';
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

/** Fake source of packages. */
const tools = `
printf '%s\\n' '#!/bin/sh' 'case $3 in' \\
	'git) rm /usr/local/bin/git ;;' \\
	esac >/usr/local/sbin/apt-get
chmod 755 /usr/local/sbin/apt-get`;

t.test('what stands between a push and the gate is found broken, and mended as doctor says', t =>
  findsAndMends(t, some(hookFaults, 3)),
);

t.test('an installation with several faults at a time', async t => {
  const installation = await Installation.open(t);

  await t.test('who is not root is told what could not be looked at', async t => {
    const { code, stdout } = await installation.as('nobody', 'softquota doctor');
    t.equal(code, 0, 'that is no fault');
    t.match(
      stdout,
      /^notice \(not_looked\): .* the daemon, at .*; the gate at .*; whether git can use the gate's socket\n {4}sudo softquota doctor\n/,
    );
    t.match(stdout, /\nNo problems found in what this user may look at\.\nChecked:\n/);
    const asGit = await installation.as('git', 'softquota doctor');
    t.match(asGit, { code: 0, stdout: /the permissions of git\n/ });
    t.notMatch(asGit.stdout, /whether git can use/);
    await installation.sh('chmod 600 /etc/softquota/app.ini');
    t.match(await installation.as('nobody', 'softquota doctor'), {
      code: 1,
      stdout: /no permission to read it\.\n {4}find out who may read it/,
    });
    await installation.sh('chmod 644 /etc/softquota/app.ini');
  });

  await t.test('hooks that git reaches through links, or by core.hooksPath, are as good as any', async t => {
    await installation.sh(`
      mkdir /opt/hooks
      mv /srv/git/alice/app.git/hooks/p*-receive /opt/hooks
      ln -s /opt/hooks/pre-receive /opt/hooks/post-receive /srv/git/alice/app.git/hooks
      rm /srv/git/bob/site.git/hooks/p*-receive
      git config --file /srv/git/bob/site.git/config core.hooksPath /opt/hooks`);
    t.strictSame(await installation.findings(), []);
    await installation.sh('echo >>/opt/hooks/pre-receive');
    t.match(await installation.findings(), [
      { code: 'hook', message: /^\/srv\/git\/alice\/app\.git: / },
      { code: 'hook_unreached', message: /^\/srv\/git\/bob\/site\.git: / },
    ]);
    await installation.sh(`
      rm /srv/git/alice/app.git/hooks/p*-receive
      git config --file /srv/git/bob/site.git/config --unset core.hooksPath
      softquota hooks install /srv/git`);
  });

  await t.test('all of them are told, and what hides one is not the end of the others', async t => {
    await installation.sh(`
      systemctl stop softquota
      rm /srv/git/alice/app.git/hooks/pre-receive
      rm -r /run/softquota
      printf '#!/bin/sh\\nexit 1\\n' >/usr/local/bin/curl
      cp /usr/local/bin/curl /usr/local/bin/nc
      chmod 755 /usr/local/bin/curl /usr/local/bin/nc`);
    const codes = async () => (await installation.findings()).map(({ code }) => code);
    t.strictSame(await codes(), ['program_missing', 'daemon_away', 'daemon_away', 'hook', 'hook']);
    t.match(await installation.doctor(), { code: 1, stdout: /^wrong \(program_missing\): .*\n {4}\S/ });
    await installation.sh('echo nonsense >>/etc/softquota/app.ini');
    t.strictSame(await codes(), ['config', 'program_missing'], 'with a faulty app.ini, the host');
  });
});

t.test('what is wrong with the daemon and its settings is found, and mended as doctor says', t =>
  findsAndMends(t, some(daemonFaults, 2)),
);
