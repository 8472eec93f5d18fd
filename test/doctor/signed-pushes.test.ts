/** Settings for signed pushes are reported, and the seed is not. */

import { join } from 'node:path';
import t from 'tap';
import { checkSignedPushes } from '../../src/doctor/git-setup.ts';
import { hooksStatus } from '../../src/git/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { context, git, repositoryAt, write } from './folder.ts';

t.test('a repository that asks for signed pushes is named, with what stops it', async t => {
  const folder = temporaryFolder(t);
  const paths = ['a.git', 'b.git', 'c.git'].map(name => repositoryAt(join(folder, name)));
  const [, signed = ''] = paths;
  const seed = write(join(folder, 'seed'), '[receive]\n\tcertNonceSeed = secret\n');
  for (const path of paths)
    write(join(path, 'config'), `[core]\n\tbare = true\n[include]\n\tpath = ${seed}\n`);
  git('config', '--file', join(signed, 'config'), 'receive.certNonceSeed', 'secret');
  const look = async () => {
    const statuses = await hooksStatus(paths);
    const close = paths.map(path => ({ path, user: { uid: 0, gid: 0 } }));
    t.notMatch(JSON.stringify(statuses), 'secret');
    return (await checkSignedPushes(context, close, statuses)).findings;
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
