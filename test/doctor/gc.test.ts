/** Findings about gc, told from a look at a repository. */

import { join } from 'node:path';
import t from 'tap';
import { checkGc } from '../../src/doctor/gc.ts';
import { folderFor, repositoryAt, write } from './folder.ts';

const context = { uid: 0, configOption: null, hookConf: '/nowhere' };

t.test('git itself decides by as many loose objects and packs', async t => {
  const path = repositoryAt(join(folderFor(t), 'app.git'));
  const look = () => checkGc(context, [{ path, user: { uid: 0, gid: 0 } }]).findings;
  const loose = (count: number) => {
    for (let number = 0; number < count; number++) {
      write(join(path, 'objects/17', number.toString(16).padStart(38, '0')), '');
    }
  };
  loose(26);
  t.strictSame(look(), []);
  loose(27);
  t.match(look(), [
    {
      code: 'gc_missing',
      severity: 'notice',
      message: /about 6,912 loose/,
      mend: `git -C ${path} gc --quiet`,
    },
  ]);
});

t.test('packs that are kept on purpose do not count', async t => {
  const path = repositoryAt(join(folderFor(t), 'app.git'));
  const look = () => checkGc(context, [{ path, user: { uid: 4711, gid: 0 } }]).findings;
  for (let number = 0; number < 51; number++) write(join(path, `objects/pack/pack-${number}.pack`), '');
  t.match(look(), [
    { code: 'gc_missing', message: /51 packs/, mend: /^setpriv --reuid=4711 --clear-groups git / },
  ]);
  write(join(path, 'objects/pack/pack-1.keep'), '');
  t.strictSame(look(), []);
});
