import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { existingNames, hasRefs } from '../../src/scan/directory-names.ts';
import { bareRepository, fill, temporary } from './world.ts';

t.test('refs exist as files, as directories, and packed, also those below a name', async t => {
  const unit = join(temporary(t), 'a.git');
  bareRepository(unit);
  fill(join(unit, 'refs/heads/x/HEAD'), 41);
  writeFileSync(
    join(unit, 'packed-refs'),
    `# pack-refs with: peeled\n${'1'.repeat(40)} refs/heads/x/objects/a\n^${'2'.repeat(40)}\n`,
  );
  symlinkSync('/etc', join(unit, 'refs/heads/link'));
  const asked = [
    'refs/heads/x/HEAD',
    'refs/heads/x/objects',
    'refs/heads/x/objects/a',
    'refs/heads/x/objects/a/b',
    'refs/heads/x/refs',
    'refs/heads/x/HEAD/y',
    'refs/heads/link/passwd',
    'HEAD',
    '../a.git/HEAD',
    '/etc/passwd',
    `refs/${'y'.repeat(300)}`,
  ];
  t.same(existingNames(unit, asked), [
    'refs/heads/x/HEAD',
    'refs/heads/x/objects',
    'refs/heads/x/objects/a',
    'refs/heads/link/passwd',
    'HEAD',
  ]);
  t.same(existingNames(join(unit, 'nowhere'), asked), []);
});

t.test('a repository is without refs while it is new', async t => {
  const unit = join(temporary(t), 'a.git');
  bareRepository(unit);
  for (const name of ['heads', 'tags']) mkdirSync(join(unit, 'refs', name), { recursive: true });
  t.equal(hasRefs(unit), false);
  writeFileSync(join(unit, 'packed-refs'), '');
  t.equal(hasRefs(unit), true, 'packed ones');
  rmSync(join(unit, 'packed-refs'));
  for (let depth = 0; depth < 30; depth++) mkdirSync(join(unit, `refs/heads/x${depth}`));
  t.equal(hasRefs(unit), true, 'too many directories');
  rmSync(join(unit, 'refs/heads'), { recursive: true });
  fill(join(unit, 'refs/merge/x/HEAD'), 41);
  t.equal(hasRefs(unit), true);
});
