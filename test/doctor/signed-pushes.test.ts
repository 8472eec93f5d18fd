/** Settings for signed pushes are reported, and the seed is not; and the gits that the worker lacks. */

import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { checkPrograms, checkSignedPushes, missingGits } from '../../src/doctor/git-setup.ts';
import { hooksStatus } from '../../src/git/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { context, git, reportOf, write } from './folder.ts';
import { repository } from './survey/world.ts';

t.test('a repository that asks for signed pushes is named, with what stops it', async t => {
  const folder = temporaryFolder(t);
  const paths = ['a.git', 'b.git', 'c.git'].map(name => repository(join(folder, name)));
  const [, signed = ''] = paths;
  const seed = write(join(folder, 'seed'), '[receive]\n\tcertNonceSeed = secret\n');
  for (const path of paths)
    write(join(path, 'config'), `[core]\n\tbare = true\n[include]\n\tpath = ${seed}\n`);
  git('config', '--file', join(signed, 'config'), 'receive.certNonceSeed', 'secret');
  const look = async () => {
    const statuses = await hooksStatus(paths);
    const close = paths.map(path => ({ path, user: { uid: 0, gid: 0 } }));
    t.notMatch(JSON.stringify(statuses), 'secret');
    return (await reportOf(report => checkSignedPushes(report, context, close, statuses))).findings;
  };
  const findings = await look();
  t.match(findings, [{ code: 'signed_pushes', severity: 'notice' }]);
  const [first] = findings;
  t.ok(first?.message.startsWith(`${signed}/config offers signed pushes to clients`));
  const [program = '', ...args] = first?.mend.split(' ') ?? [];
  t.equal(program, 'git');
  git(...args);
  t.same(await look(), []);
});

t.test('of several gits on a host those are named that the worker does not have', async t => {
  const folder = temporaryFolder(t);
  const newer = write(join(folder, 'git'), '#!/bin/sh\necho git version 9.9.1\n');
  chmodSync(newer, 0o755);
  const { PATH = '' } = process.env;
  process.env.PATH = `${PATH}:${folder}`;
  t.teardown(() => {
    process.env.PATH = PATH;
  });
  const words = new RegExp(`several versions of git: .*/git is \\d.*, ${newer} is 9\\.9\\.1`);
  t.match(await missingGits(['git']), { words, value: `git, ${newer}` });
  t.equal(await missingGits(['git', newer]), null);
  t.match((await reportOf(report => checkPrograms(report, ['git']))).findings, [
    {
      code: 'other_git',
      message: words,
      mend: `in app.ini set [reclaim] GIT = git, ${newer}; then restart the worker`,
    },
  ]);
  const mended = await reportOf(report => checkPrograms(report, ['git', newer]));
  t.strictSame(mended.findings, [], 'the advice has its effect');
});
