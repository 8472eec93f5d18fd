/**
 * Findings of doctor on a host besides repositories: who may ask, git's own configuration, other programs'
 * paths.
 */

import t from 'tap';
import { Installation } from './installation.ts';

t.setTimeout(300_000);

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
