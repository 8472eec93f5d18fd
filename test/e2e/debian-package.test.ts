/** The .deb on a copy of this host; packages.long.test.ts has it on one without Node. */

import t from 'tap';
import { packageHeading, readGuide } from './guide.ts';
import { liveThrough, makePackages, olderVersion, shared } from './packages.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(600_000);

const [newer = ''] = await makePackages(t, '--only', 'deb');

t.test('the package leads to a protected server, is upgraded, removed and purged', async t => {
  const [older = ''] = await makePackages(t, '--only', 'deb', '--as', olderVersion);
  const guide = (await readGuide()).filter(({ heading }) => heading === packageHeading).slice(0, 1);
  await liveThrough(t, { host: await SandboxHost.open(t), older, newer, guide });
});

t.test('man and the shells find what the package has for them, without any setting', async t => {
  const host = await SandboxHost.open(t);
  // Some images leave manual pages out.
  await host.must('dpkg', ['--path-include=/usr/share/man/*', '--install', await shared(host, newer)]);
  t.match(await host.must('man', ['softquota']), /^SOFTQUOTA\(1\)/);
  t.match(await host.must('man', ['app.ini']), /^APP\.INI\(5\)/);
  t.match(await host.must('fish', ['-c', 'complete -C "softquota rule cre"']), /^create\t/);
  t.equal(
    await host.must('zsh', ['-fc', 'autoload -U compinit; compinit -u -D; echo $_comps[softquota]']),
    '_softquota',
  );
  // Completion is found where bash-completion looks for a command of this name.
  t.equal(
    await host.must('bash', [
      '-c',
      'source /usr/share/bash-completion/completions/softquota; complete -p softquota',
    ]),
    'complete -F _softquota softquota',
  );
});
