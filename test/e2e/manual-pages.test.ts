/**
 * Pages of the manual, typed as they stand: the short ones on a server that docs/install.md has made, then
 * policy.md from its first line to its last, and receive-pack.md with the printed files in a real sshd.
 */

import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { iniOf, readGuide, Site, typeOn } from './guide.ts';
import { checkout, Installation } from './installation.ts';
import { packed } from './packages.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

/** Output that is to be seen once a heading's commands were typed. */
const shows: Readonly<Record<string, RegExp>> = {
  Usage: /^alice +[\d.]+ k?B +10 GB/m,
  'Why an owner is refused or allowed': /\* [\d.]+ k?B of 10 GB \(size:all\): allows/,
  'Rules and groups': /Rule ten is now: at most 20 GB of size:all\./,
  'The policy as a file': /No problems found\.[\s\S]*already in force/,
  Users: /alice +owner/,
  'The installation': /^1 repository, all with working hooks\.$/m,
  Troubleshooting: /^No problems found\.$/m,
  Upgrade: /^No problems found\.$/m,
  'Users see their usage over ssh': /^$/,
};

const site = await Site.open(t, await packed(t));
await site.protect(await readGuide(), 'ssh');
const blocks = await readGuide('policy.md');

t.test('every command of the short pages does what the page says', async t => {
  const overSsh = (await readGuide('hooks.md')).filter(
    ({ kind, heading }) => kind === 'sh' && heading === 'Users see their usage over ssh',
  );
  const pages = ['quick-reference.md', 'troubleshooting.md', 'security.md', 'upgrade.md'];
  const blocks = [...overSsh, ...(await Promise.all(pages.map(page => readGuide(page)))).flat()];
  t.equal(
    blocks.filter(({ kind }) => kind === 'sh').length,
    blocks.length,
    'there are commands, and nothing else',
  );
  for (const block of blocks) {
    const { code, stdout, stderr } = await site.type(block);
    t.equal(code, 0, block.heading, { stdout, stderr, text: block.text });
    t.match(stdout, shows[block.heading] ?? /^/, block.heading);
  }
  const ask = { kind: 'sh alice', heading: '', text: 'ssh git@git.example quota alice' };
  t.match(await site.type(ask), { code: 0, stdout: /^alice uses [\d.]+ k?B of 22 GB/ });
});

t.test('nginx may ask once its user is in the group, and the job of cron finds softquota', async t => {
  const line = async (page: string, words: string) => {
    const block = (await readGuide(page)).find(({ text }) => text.includes(words));
    return { kind: 'sh', heading: page, text: block?.text ?? '' };
  };
  const check = await line('uploads.md', 'runuser -u www-data');
  const isCut = await site.sandbox.run('sh', ['-c', check.text]);
  t.match(isCut, { code: 7 }, 'curl says that it cannot connect');
  await site.sandbox.must('usermod', ['--append', '--groups', 'softquota', 'www-data']);
  t.match(await site.type(check), { code: 0, stdout: /^\{"status":"ok"/ });

  const [, path = '', command = ''] =
    /^PATH=(.+)\n(?:\S+ ){5}root (.+)$/m.exec((await line('backup.md', '* * root softquota backup')).text) ??
    [];
  const job = ['-i', `PATH=${path}`, 'HOME=/root', 'SHELL=/bin/sh', '/bin/sh', '-c', command];
  t.match(await site.sandbox.run('env', job), { code: 0, stderr: /^Saved \d+ owners?,/ });
});

/** Usage that the manual describes. */
const stored = [
  ['alice', 'size:git:lfs', 5_000_000_000],
  ['alice', 'size:repos:private', 3_200_000_000],
  ['bob', 'size:repos:private', 300_000_000],
  ['acme', 'size:assets:packages:all', 12_000_000_000],
] as const;

t.test('every command of the manual on rules and groups prints what the manual shows', async t => {
  const server = await Server.open(t, { started: false });
  // The page is typed in a checkout.
  await symlink(join(checkout, 'examples'), join(server.folder, 'examples'));
  await server.configure({ 'storage.lfs': { PATH: null } });
  let printed: string | null = null;
  for (const block of blocks) {
    if (block.kind === 'ini') {
      if (printed !== null) await server.stop();
      await server.configure(iniOf(block));
      await server.start();
      if (printed !== null) continue;
      await server.softquota('user create acme --type organization');
      for (const [owner, subject, bytes] of stored)
        await server.reports(owner, bytes, { subject, unit: subject });
    } else if (block.kind === 'sh') {
      const typed = await typeOn(server, block.text);
      t.equal(typed.stderr.replace(/^Exported .*\n/, ''), '', block.text);
      printed = typed.stdout;
    } else {
      t.equal(printed, block.text, block.heading);
    }
  }
});

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
    t.match(push, /remote: Quota is 0: alice may not store anything\./, name);
    const asked = await host.sh('ssh git@localhost id 2>&1 || true');
    t.match(asked, /unrecognized command|fatal/, `${name}: nobody gets a shell`);
  }
});
