/** A release, made in a clone. */

import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { compareVersions, released } from '../../scripts/release/changelog.ts';
import { must, type Run, run } from '../e2e/run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

t.test('a version comes after every lower one, and after its candidates', async t => {
  const ordered = ['0.1.0', '0.1.2', '0.1.10', '0.2.0-beta.1', '0.2.0-rc.2', '0.2.0-rc.10', '0.2.0', '1.0.0'];
  t.strictSame(ordered.toReversed().toSorted(compareVersions), ordered);
  t.throws(() => compareVersions('1.0', '1.0.0'), { message: /1\.0 is no version such as 0\.2\.0/ });
});

t.test('what is unreleased becomes the section of the version', async t => {
  const before =
    '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- News.\n\n## [0.1.0] - 2026-01-02\n\n- Old.\n';
  t.strictSame(released(before, '0.2.0', '2026-11-23'), {
    text: before.replace('[Unreleased]\n', '[Unreleased]\n\n## [0.2.0] - 2026-11-23\n'),
    section: '### Added\n\n- News.',
  });
  t.throws(() => released('## [Unreleased]\n\n## [0.1.0]\n- Old.\n', '0.2.0', ''), {
    message: /says nothing under Unreleased/,
  });
});

t.test('a release is a commit, a tag and a changed changelog here, and nothing elsewhere', async t => {
  const folder = t.testdir();
  const origin = join(folder, 'origin.git');
  const clone = join(folder, 'clone');
  await must('git', ['clone', '--quiet', '--bare', '--depth=1', `file://${checkout}`, origin]);
  const tags = await must('git', ['-C', origin, 'tag']);
  await must('git', ['clone', '--quiet', origin, clone]);
  symlinkSync(join(checkout, 'node_modules'), join(clone, 'node_modules'));
  const env = { HOME: folder, npm_config_cache: join(folder, 'cache') };
  const release = (...words: readonly string[]): Promise<Run> =>
    run(process.execPath, ['scripts/release.ts', '--no-packages', ...words], { cwd: clone, env });
  const git = (...words: readonly string[]) => must('git', words, { cwd: clone });
  await git('config', 'status.showUntrackedFiles', 'no'); // node_modules is a link here
  // There may have been a release just now.
  const changelog = join(clone, 'CHANGELOG.md');
  const told = readFileSync(changelog, 'utf8').replace(
    /^(## \[Unreleased\]\n)/m,
    '$1\n### Added\n\n- News.\n',
  );
  writeFileSync(changelog, told);
  await git(
    ...['-c', 'user.name=alice', '-c', 'user.email=alice@git.example'],
    'commit',
    '--quiet',
    '--all',
    '-m',
    'News',
  );

  t.match(await release('0.0.1'), { code: 1, stderr: /0\.0\.1 is not above / });
  writeFileSync(join(clone, 'LICENSE'), '');
  t.match(await release('99.0.0'), { code: 1, stderr: /the work tree has changes/ });
  await git('checkout', '--quiet', 'LICENSE');

  const made = await release('99.0.0');
  t.equal(made.code, 0, made.stderr);
  t.match(made.stdout, /nothing is pushed or published/);
  t.equal(await git('log', '-1', '--format=%s'), 'release: softquota 99.0.0');
  t.match(
    await git('for-each-ref', '--format=%(objecttype) %(contents)', 'refs/tags/v99.0.0'),
    /^tag softquota 99\.0\.0\n\n### /,
  );
  for (const file of ['package.json', 'package-lock.json']) {
    t.match(readFileSync(join(clone, file), 'utf8'), /^ {2}"version": "99\.0\.0",$/m, file);
  }
  t.match(readFileSync(changelog, 'utf8'), /## \[Unreleased\]\n\n## \[99\.0\.0\] - \d{4}-\d\d-\d\d\n\n###/);
  t.equal(await git('diff', '--numstat', 'HEAD~1', 'package-lock.json'), '2\t2\tpackage-lock.json');
  t.equal(await must('git', ['-C', origin, 'tag']), tags);
  t.match(await release('99.0.0'), { code: 1, stderr: /the tag v99\.0\.0 exists already/ });
  t.match(await release('99.0.1'), { code: 1, stderr: /says nothing under Unreleased/ });
});
