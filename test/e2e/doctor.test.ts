/**
 * softquota doctor: whole installations, broken in one way each, and mended by what doctor says of it. The
 * ordinary run has every second or third of them.
 */

import t, { type Test } from 'tap';
import { some } from '../run-length.ts';
import { Installation } from './installation.ts';

t.setTimeout(300_000);
t.jobs = 2;

interface Fault {
  /** A sentence: what has happened. */
  readonly what: string;
  /** Does it, as root on the host. */
  readonly break: string;
  /** The codes of all that doctor finds. */
  readonly found: readonly string[];
  /** Word that the message has to name. */
  readonly names: string;
  /** False where the daemon cannot be ready meanwhile. */
  readonly ready?: false;
  /** Steps of an administrator where the mend is left to a person, and the words of the mend that say so. */
  readonly byHand?: { readonly says: RegExp; readonly does: string };
}

const app = '/srv/git/alice/app.git';
const site = '/srv/git/bob/site.git';
const ini = '/etc/softquota/app.ini';

const hookFaults: readonly Fault[] = [
  {
    what: 'a hook lost its right to run',
    break: `chmod a-x ${app}/hooks/pre-receive`,
    found: ['hook_blocked'],
    names: `${app}: git cannot run hooks/pre-receive`,
  },
  {
    what: 'the hook that was there before ours lost its right to run',
    break: `install -D -m 644 -o git /bin/true ${site}/hooks/pre-receive.d/50-previous`,
    found: ['hook_previous_skipped'],
    names: `${site}: hooks/pre-receive.d/50-previous is not executable`,
  },
  {
    what: 'somebody put another hook in the place of ours',
    break: `printf '#!/bin/sh\\nexit 0\\n' >${app}/hooks/pre-receive`,
    found: ['hook'],
    names: `${app}: another hook`,
  },
  {
    what: 'a hook belongs to root, and only root may run it',
    break: `chown root ${app}/hooks/pre-receive && chmod 700 ${app}/hooks/pre-receive`,
    found: ['hook_blocked'],
    names: `git may not run ${app}/hooks/pre-receive`,
  },
  {
    what: "the repository's configuration sends git to other hooks",
    break: `git config --file ${app}/config core.hooksPath /nowhere`,
    found: ['hook_unreached'],
    names: `${app}/config`,
  },
  {
    what: "the git user's own configuration sends git to other hooks",
    break: 'git config --file ~git/.gitconfig core.hooksPath .husky && chown git ~git/.gitconfig',
    found: ['hook_unreached'],
    names: '/home/git/.gitconfig',
  },
  {
    what: "the system's configuration sends git to a directory without ours",
    break: 'mkdir -p /etc/githooks && git config --system core.hooksPath /etc/githooks',
    found: ['hook_unreached'],
    names: '/etc/githooks',
  },
  {
    what: 'no program is left that can ask',
    break: 'mv /usr/bin/nc.openbsd /usr/bin/nc.away && mv /usr/bin/curl /usr/bin/curl.away',
    found: ['program_missing', 'hook'],
    names: '/usr/bin',
    byHand: {
      says: /^apt-get install -y curl$/,
      does: 'mv /usr/bin/nc.away /usr/bin/nc.openbsd && mv /usr/bin/curl.away /usr/bin/curl',
    },
  },
  {
    what: 'netcat, by which the hooks ask, is gone',
    break: 'mv /usr/bin/nc.openbsd /usr/bin/nc.away',
    found: ['hook'],
    names: 'the hooks ask by nc, which is gone',
  },
  {
    what: 'git is too old for a quarantine',
    break: `printf '#!/bin/sh\\nPATH=/usr/bin\\n[ "$1" != --version ] || exec echo git version 2.10.5\\nexec git "$@"\\n' >/usr/local/bin/git && chmod 755 /usr/local/bin/git`,
    found: ['program_missing', 'other_git'],
    names: '2.10.5',
  },
  {
    what: 'the last automatic gc failed',
    break: `echo 'fatal: bad object' >${app}/gc.log`,
    found: ['gc_failing'],
    names: app,
  },
];

const daemonFaults: readonly Fault[] = [
  {
    what: 'no daemon runs',
    break: 'systemctl stop softquota',
    found: ['daemon_away', 'daemon_away'],
    ready: false,
    names: 'no daemon answers',
  },
  {
    what: "the git user may not search the socket's directory",
    break: 'chmod 700 /run/softquota',
    found: ['gate_blocked'],
    names: 'git may not search /run/softquota',
  },
  {
    what: 'the socket lost its mode',
    break: 'chmod 600 /run/softquota/gate.sock',
    found: ['gate_blocked'],
    names: '(mode 0600)',
  },
  {
    what: 'everybody may put a socket in the place of ours',
    break: 'chmod 777 /run/softquota',
    found: ['exposed'],
    names: 'everybody may write /run/softquota',
  },
  {
    what: "the git user is not in the socket's group",
    break: 'chmod 755 /run/softquota && gpasswd -d git softquota',
    found: ['gate_blocked'],
    names: 'git may not use /run/softquota/gate.sock',
  },
  {
    what: 'anybody may report usage',
    break: `sed -i 's/^HTTP_PORT.*/&\\nTRUSTED_MODE = 0666/' ${ini} && systemctl restart softquota`,
    found: ['exposed'],
    names: '/var/lib/softquota/trusted.sock',
  },
  {
    what: "somebody opened the administrator's socket",
    break: 'chmod 660 /var/lib/softquota/admin.sock',
    found: ['exposed'],
    names: '/var/lib/softquota/admin.sock',
  },
  {
    what: 'anybody can write where the daemon keeps what it knows',
    break: 'chmod 777 /var/lib/softquota',
    found: ['exposed', 'exposed'],
    names: '/var/lib/softquota',
  },
  {
    what: 'anybody can write the configuration',
    break: `chmod 666 ${ini}`,
    found: ['exposed'],
    names: ini,
  },
  {
    what: 'the configuration has a fault',
    break: `echo 'COLOUR = blue' >>${ini}`,
    found: ['config'],
    names: 'COLOUR',
    byHand: { says: /^correct this line/, does: `sed -i '/COLOUR/d' ${ini} && systemctl reload softquota` },
  },
  {
    what: 'a key waits for a restart',
    break: `sed -i 's/^HTTP_PORT.*/HTTP_PORT = 3999/' ${ini} && systemctl reload softquota`,
    found: ['restart_needed'],
    names: '[server] HTTP_PORT',
  },
  {
    what: 'refusals are only recorded',
    break: `sed -i 's/^ENABLED.*/&\\nMODE = report/' ${ini} && systemctl reload softquota`,
    found: ['not_enforced'],
    names: 'only recorded',
    byHand: {
      says: /^when the figures are as expected: in .* set \[quota\] MODE = enforce; then systemctl reload softquota$/,
      does: `sed -i 's/^MODE.*/MODE = enforce/' ${ini} && systemctl reload softquota`,
    },
  },
  {
    what: 'quotas are switched off',
    break: `sed -i 's/^ENABLED.*/ENABLED = false/' ${ini} && systemctl reload softquota`,
    found: ['not_enforced'],
    names: 'switched off',
  },
  {
    what: 'no template matches the repositories',
    break: `sed -i 's/{repo}.git/{repo}.repository/' ${ini} && systemctl reload softquota`,
    found: ['unknown_repository'],
    names: `${app}: has the hooks`,
  },
  {
    what: 'an owner has no name that can be one',
    break: "cp -a /srv/git/bob /srv/git/$(printf 'caf\\351') && softquota scan",
    found: ['unit_fault'],
    names: '/srv/git/caf',
    byHand: { says: /^rename it/, does: "mv /srv/git/$(printf 'caf\\351') /srv/git/cafe && softquota scan" },
  },
];

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

  await t.test('commands are for the daemon that is looked at, not for that of the service', async t => {
    await installation.sh(`
      mkdir -p /srv/test
      sed -e 's|/run/softquota|/srv/test|; s|/var/lib/softquota|/srv/test|; s/^ENABLED.*/ENABLED = false/' \\
        /etc/softquota/app.ini >/srv/test/app.ini`);
    const { stdout } = await installation.doctor('--config', '/srv/test/app.ini');
    t.match(stdout, /\(daemon_away\): .*\n {4}softquota serve --config \/srv\/test\/app\.ini\n/);
    t.match(
      stdout,
      /\(not_enforced\): .*\n {4}in \/srv\/test\/app\.ini set .*; then send the daemon SIGHUP\n/,
    );
    t.notMatch(stdout, 'systemctl');
    await installation.sh('rm -r /srv/test');
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

t.test('doctor acts as whoever may write repositories, and looks at what else a push needs', async t => {
  const host = await Installation.open(t);
  const found = async (code: string) => (await host.findings()).filter(each => each.code === code);
  const mended = async (code: string, count = 1) => {
    const findings = await found(code);
    t.equal(findings.length, count, code);
    t.ok(findings.every(({ severity }) => severity === 'wrong'));
    for (const { mend } of findings) await host.sh(mend);
    t.strictSame(await found(code), [], `${code}: the mend helps`);
    return findings;
  };

  await host.sh(`
    groupadd developers
    for user in bob carol; do useradd --groups developers "$user"; done
    useradd eve
    chgrp -R developers /srv/git/alice/app.git
    chmod -R g+w /srv/git/alice/app.git/objects`);
  const members = await mended('gate_blocked', 2);
  t.match(members[0]?.message, /^bob may not use .*gate\.sock/);
  t.match(members[1]?.message, /^carol may not use /);
  t.match(members[1]?.mend, 'usermod -a -G softquota carol');

  await host.sh('rm -f /etc/gitconfig; umask 077; git config --system init.defaultBranch main');
  const [unread] = await mended('git_config');
  t.match(unread?.message, /^git does nothing as git: .*\/etc\/gitconfig/);

  await host.sh(`
    mkdir -p /etc/ssh/sshd_config.d /etc/systemd/system/fcgiwrap.service.d
    printf '# GIT_EXEC_PATH=/nowhere/a\\nSetEnv GIT_EXEC_PATH=/nowhere/b\\n' >/etc/ssh/sshd_config.d/git.conf
    printf '[Service]\\nEnvironment="GIT_EXEC_PATH=/usr/lib/git-core"\\n' >/etc/systemd/system/fcgiwrap.service.d/a.conf
    printf '$ENV{PATH} = "/nowhere/softquota/hooks/receive-pack:$ENV{PATH}";\\n' >~git/.gitolite.rc`);
  t.strictSame(
    (await found('named_missing')).map(({ message }) => message.split(',')[0]),
    [
      '/etc/ssh/sshd_config.d/git.conf:2 names /nowhere/b',
      '/home/git/.gitolite.rc:1 names /nowhere/softquota/hooks/receive-pack',
    ],
  );
});
