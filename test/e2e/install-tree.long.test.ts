/**
 * README and docs/install.md, typed in one shell in a fresh Debian that debootstrap makes, whose Node.js is
 * older than 24: no line fails, and the first push is refused.
 *
 * The packages that the lines install are downloaded before, into the tree's cache: while they are typed
 * there is no network. git, curl and npm, with which `scripts/install` begins, are installed once for all
 * ways.
 */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { readGuide, Site, stepsOf, type Way } from './guide.ts';
import { must } from './run.ts';

t.setTimeout(3_600_000);

const need = fileURLToPath(new URL('../../scripts/need', import.meta.url));
const guide = await readGuide();
const folder = temporaryFolder(t);

/** The packages that the guide installs, without the one that is made in the checkout. */
const installed = guide
  .flatMap(({ text }) => /apt-get install -y ([^&\n]*[^&\s])/.exec(text)?.[1]?.split(' ') ?? [])
  .filter(name => !name.startsWith('./'));

/**
 * Makes the tree $1 with the script $2, for later lines that install the packages behind. Nothing is started
 * by packages there, as in a container. The name servers and authorities of this host are needed to
 * download.
 */
const makeTree = `
tree=$1 need=$2
shift 2
debootstrap --variant=minbase --include=ca-certificates,systemd bookworm "$tree" >&2
printf '#!/bin/sh\\nexit 101\\n' >"$tree/usr/sbin/policy-rc.d"
chmod +x "$tree/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
for setting in $(grep -lsE '^Acquire::' /etc/apt/apt.conf.d/*); do cp "$setting" "$tree/etc/apt/apt.conf.d/"; done
rm -f "$tree/etc/apt/apt.conf.d/docker-clean"
cp "$need" "$tree/tmp/need"
chroot "$tree" /tmp/need git=git curl=curl npm=npm ssh=openssh-client >&2
chroot "$tree" apt-get install -y -qq --download-only "$@" >&2
`;

const tree = join(folder, 'debian');
await must('sh', ['-eu', '-c', makeTree, 'sh', tree, need, ...installed]);

/** The ways with programs of their own. */
const names = ['ssh', 'http', 'apache', 'gitolite'] as const satisfies readonly Way[];

for (const way of names) {
  t.test(`in a fresh Debian the way ${way} leads to a refused push`, async t => {
    const site = await Site.open(t, null, { root: tree });
    t.match(await site.sandbox.must('node', ['--version']), /^v18\./, 'Node.js is older than 24');
    const steps = stepsOf(guide, way).filter(({ heading }) => !/^The hooks out|^All the rest/.test(heading));
    for (const step of steps) {
      const { code } = await site.must(step);
      if (step.kind === 'sh alice') t.not(code, 0, 'her push is refused');
    }
    const { stdout } = await site.sandbox.run('softquota', ['doctor']);
    t.match(stdout, /^No problems found\.$/m);
  });
}

t.test(
  'in a fresh Debian the commands of README and of the pages under Start work as they stand',
  async t => {
    const { sandbox } = await Site.open(t, null, { root: tree });
    const readme = await readGuide('../README.md');
    const blocksBelow = (heading: string) => readme.filter(block => block.heading === heading);

    await t.test('Try it: npm start prints a link, and lines that lead on', async t => {
      const [line = ''] = blocksBelow('Try it').flatMap(({ text }) => text.split('\n'));
      t.match(line, /^npm start /);
      const waiting = `${line.replace(/#.*/, '')} >/tmp/started 2>&1 &
until grep -q 'http://127' /tmp/started; do kill -0 $!; sleep 0.2; done
kill $!; wait $! || :; cat /tmp/started`;
      const printed = await sandbox.must('sh', ['-euc', waiting], { cwd: sandbox.checkout });
      t.ok(printed.split('\n').length < 40, printed);
    });

    await sandbox.must('sh', [
      '-euc',
      `useradd git && install -d -o git -g git /srv/git
runuser -u git -- git init -q --bare -b main /srv/git/alice/app.git
runuser -u git -- sh -c 'head -c 3000000 /dev/urandom >/srv/git/alice/app.git/objects/pack/some'`,
    ]);
    const type = async (t: Test, text: string) => {
      const { code, stdout, stderr } = await sandbox.run('sh', ['-euc', text], { cwd: sandbox.checkout });
      t.equal(code, 0, text, { stdout, stderr });
      return stdout;
    };

    await t.test('Protect a server: five commands, and nobody is refused yet', async t => {
      const lines = blocksBelow('Protect a server').flatMap(({ text }) => text.trim().split('\n'));
      t.equal(lines.length, 5);
      for (const line of lines) await type(t, line);
      t.match(await type(t, 'softquota usage'), /^alice +3\.\d+ MB/m);
      t.match(await type(t, 'softquota doctor'), /^No problems found\.$/m);
      t.match(await type(t, 'softquota hooks status'), /^1 repository, all with working hooks\.$/m);
    });

    await t.test('quick-reference.md', async t => {
      const blocks = (await readGuide('quick-reference.md')).filter(({ kind }) => kind === 'sh');
      t.ok(blocks.length > 4);
      for (const { text } of blocks) await type(t, text);
    });

    await t.test('init.md', async t => {
      const [first] = (await readGuide('init.md')).filter(({ kind }) => kind === 'sh');
      await sandbox.must('systemctl', ['stop', 'softquota', 'softquota-worker']);
      await sandbox.must('rm', ['/etc/softquota/app.ini']);
      t.match(await type(t, first?.text ?? ''), /alice/);
    });
  },
);
