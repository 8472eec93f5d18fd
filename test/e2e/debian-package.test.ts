/** The .deb on a copy of this host; packages.long.test.ts has it on one without Node. */

import t from 'tap';
import { packageHeading, readGuide } from './guide.ts';
import { liveThrough, makePackages, olderVersion } from './packages.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(600_000);

t.test('the package leads to a protected server, is upgraded, removed and purged', async t => {
  const [older = ''] = await makePackages(t, '--only', 'deb', '--as', olderVersion);
  const [newer = ''] = await makePackages(t, '--only', 'deb');
  const guide = (await readGuide()).filter(({ heading }) => heading === packageHeading).slice(0, 1);
  await liveThrough(t, { host: await SandboxHost.open(t), older, newer, guide });
});
