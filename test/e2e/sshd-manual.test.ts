/** docs/receive-pack.md over ssh: the printed files in a real sshd, and keys with a command of their own. */

import t from 'tap';
import { checkout, Installation } from './installation.ts';

t.setTimeout(300_000);

/** Each account as the page has it: the file of sshd, git's login shell, and what stands before her key. */
const accounts = {
  'git-shell as login shell': { file: 'git-shell.conf', shell: '/usr/bin/git-shell', before: 'restrict' },
  'a forced command': { file: 'forced.conf', shell: '/bin/sh', before: 'restrict' },
  'keys with a command': {
    file: 'git-shell.conf',
    shell: '/bin/sh',
    before: 'restrict,command="git-shell -c \\"$SSH_ORIGINAL_COMMAND\\""',
  },
};

t.test('over ssh every account of the manual lets her in, and stops her upload', async t => {
  const host = await Installation.open(t);
  await host.sh(`
    ln -sfn ${checkout} /usr/lib/softquota
    softquota hooks install --programs /usr/local/lib/softquota
    mkdir -p /run/sshd /root/.ssh
    ssh-keygen -q -t ed25519 -N '' -C alice -f /root/.ssh/id_ed25519
    printf 'StrictHostKeyChecking accept-new\nLogLevel ERROR\n' >/root/.ssh/config
    ssh-keygen -A
    runuser -u git -- mkdir -m 700 /home/git/.ssh
    # Only what sshd names can refuse here.
    rm /srv/git/alice/app.git/hooks/pre-receive
    sed -i 's/^TOTAL = .*/TOTAL = 0/' /etc/softquota/app.ini
    systemctl reload softquota`);
  for (const [name, { file, shell, before }] of Object.entries(accounts)) {
    await host.sh(
      `
      [ ! -e /run/sshd.pid ] || kill "$(cat /run/sshd.pid)"
      usermod --shell ${shell} git
      cp /usr/lib/softquota/share/sshd/${file} /etc/ssh/sshd_config.d/git.conf
      printf '%s %s\n' "$before" "$(cat /root/.ssh/id_ed25519.pub)" >/home/git/.ssh/authorized_keys
      chown git: /home/git/.ssh/authorized_keys
      while [ -e /run/sshd.pid ]; do sleep 0.1; done
      /usr/sbin/sshd
      rm -rf /tmp/clone`,
      { env: { before } },
    );
    const push = await host.sh(`
      cd /tmp
      git clone -q git@localhost:/srv/git/alice/app.git clone 2>&1
      cd clone
      head -c 100000 /dev/urandom >large
      git add large
      git -c user.name=alice -c user.email=alice@git.example commit -q -m large
      git push origin HEAD:main 2>&1 || true`);
    t.match(push, /remote: Quota is 0: alice may not store private repositories\./, name);
    const asked = await host.sh('ssh git@localhost id 2>&1 || true');
    t.match(asked, /unrecognized command|fatal/, `${name}: nobody gets a shell`);
  }
});
