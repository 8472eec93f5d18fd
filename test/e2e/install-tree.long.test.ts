/**
 * docs/install.md, typed in one shell in a fresh Debian that debootstrap makes, whose Node.js is older than
 * 24: no line fails, and the first push is refused after at most ten command lines.
 *
 * The packages that the lines install are downloaded before, into the tree's cache: while they are typed
 * there is no network. git, curl and npm, with which `scripts/install` begins, are installed once for all
 * three ways.
 */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { linesToRefusal, readGuide, Site, stepsOf, type Way, ways } from './guide.ts';
import { must } from './run.ts';

t.setTimeout(3_600_000);

const need = fileURLToPath(new URL('../../scripts/need', import.meta.url));
const guide = await readGuide();
const folder = temporaryFolder(t);

/** The packages that the guide installs, without the one that is made in the checkout. */
const installed = guide
  .flatMap(({ text }) => /apt-get install -y (.*)/.exec(text)?.[1]?.split(' ') ?? [])
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

const names = Object.keys(ways) as Way[]; // what Object.keys gives of a constant are its keys

for (const way of names) {
  t.test(`in a fresh Debian the way ${way} leads to a refused push in at most ten command lines`, async t => {
    const site = await Site.open(t, null, { root: tree });
    t.match(await site.sandbox.must('node', ['--version']), /^v18\./, 'Node.js is older than 24');
    const steps = stepsOf(guide, way).filter(({ heading }) => !/^The hooks out|^All the rest/.test(heading));
    for (const step of steps) {
      const { code } = await site.must(step);
      if (step.kind === 'sh alice') t.not(code, 0, 'her push is refused');
    }
    t.ok(linesToRefusal(steps) <= 10);
    const { stdout } = await site.sandbox.run('softquota', ['doctor']);
    t.match(stdout, /^No problems found\.$/m);
  });
}
