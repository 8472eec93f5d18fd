/**
 * Makes a release, and publishes nothing: `npm run release -- VERSION`.
 *
 * What CHANGELOG.md has under Unreleased becomes the section of the version; package.json and what is generated
 * from it get the version; a commit and an annotated tag with that section are made, then the packages. Pushing
 * and publishing are left to a person: the last lines say how.
 *
 * In:   the version, above that of package.json, or the same where it has no tag yet; --no-packages. The work
 *       tree has no changes.
 * Out:  what it does. Exit: 0; 1 and why, with nothing changed unless a program failed on the way.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compareVersions, released } from './release/changelog.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'no-packages': { type: 'boolean', default: false } },
});

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function run(program: string, ...args: readonly string[]): void {
  execFileSync(program, args, { stdio: 'inherit' });
}

/** Throws a sentence that says what is missing. */
function release(version: string): void {
  const { version: present }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  const order = compareVersions(version, present);
  const tag = `v${version}`;
  if (order < 0) throw new Error(`${version} is not above ${present}, the version of package.json`);
  if (git('tag', '--list', tag) !== '') throw new Error(`the tag ${tag} exists already`);
  if (git('status', '--porcelain') !== '') throw new Error('the work tree has changes: commit them first');
  const today = new Date().toISOString().slice(0, 10);
  const { text, section } = released(readFileSync('CHANGELOG.md', 'utf8'), version, today);

  writeFileSync('CHANGELOG.md', text);
  run('npm', 'version', '--no-git-tag-version', '--allow-same-version', '--ignore-scripts', version);
  run(process.execPath, 'scripts/generate.ts');
  run('git', 'commit', '--quiet', '--all', '--message', `release: softquota ${version}`);
  run(
    'git',
    'tag',
    '--annotate',
    '--cleanup=verbatim',
    '--message',
    `softquota ${version}\n\n${section}`,
    tag,
  );
  if (!values['no-packages']) run('npm', 'run', 'package');
  process.stdout.write(
    `\n${tag} is made here, and nothing is pushed or published. docs/releasing.md has what is left to do;\n` +
      `git tag --delete ${tag} && git reset --hard HEAD~1 takes it back.\n`,
  );
}

const [version, ...others] = positionals;
try {
  if (version === undefined || others.length > 0) throw new Error('give one version, such as 0.2.0');
  release(version);
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
