import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { deliberate, nameFaults, sameNames } from '../../scripts/same-names.ts';

t.test('no exported name of src has two meanings but those that are listed', async t => {
  t.same(nameFaults(sameNames(join(import.meta.dirname, '../../src')), deliberate), []);
});

t.test('a name that two files export is named with both, and one that is listed in vain, too', async t => {
  const directory = t.testdir();
  mkdirSync(join(directory, 'a'));
  writeFileSync(join(directory, 'a/one.ts'), 'export interface Place {}\nexport function only() {}\n');
  writeFileSync(join(directory, 'two.ts'), 'export type Place = string;\nconst only = 1;\n');
  const names = sameNames(directory);
  t.same([...names], [['Place', ['a/one.ts', 'two.ts']]]);
  t.same(nameFaults(names, {}), ['Place is exported by a/one.ts and two.ts: give each its own name']);
  t.same(nameFaults(names, { Place: 'both are one', only: 'no' }), [
    'scripts/same-names.ts lists only, which is exported once at most',
  ]);
});
