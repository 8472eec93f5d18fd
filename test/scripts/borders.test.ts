import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { borderFaults, type ImportGraph, importGraph } from '../../scripts/borders.ts';
import { modules } from '../../scripts/modules.ts';
import { folderWith } from '../config/written.ts';

const declared = { quota: [], store: ['quota'] };
const sound: ImportGraph = new Map([
  ['quota/index.ts', ['quota/rule.ts']],
  ['quota/rule.ts', ['errors.ts']],
  ['store/index.ts', ['quota/index.ts']],
  ['errors.ts', []],
]);
const faultsWith = (file: string, imports: readonly string[]) =>
  borderFaults(new Map([...sound, [file, imports]]), declared);

t.test('imports that the map declares are no faults', async t => {
  t.same(borderFaults(sound, declared), []);
});

t.test('an import past an index, against the direction, or in a circle is a fault', async t => {
  t.same(faultsWith('store/file.ts', ['quota/rule.ts']), [
    'store/file.ts: imports quota/rule.ts past quota/index.ts',
  ]);
  t.same(faultsWith('quota/limit.ts', ['store/index.ts']), [
    'quota/limit.ts: imports store/index.ts, but scripts/modules.ts does not let quota import store',
  ]);
  t.same(faultsWith('quota/rule.ts', ['quota/index.ts']), [
    'a cycle: quota/index.ts > quota/rule.ts > quota/index.ts',
  ]);
});

t.test('a map that lacks a module, points backwards or declares what nobody imports is a fault', async t => {
  t.same(faultsWith('gate/index.ts', []), ['gate/index.ts: scripts/modules.ts has no module gate']);
  t.same(borderFaults(sound, { quota: ['store'], store: ['quota'] }), [
    'scripts/modules.ts: quota may not import store, which does not stand before it',
    'scripts/modules.ts: quota may import store, but no file does',
  ]);
});

t.test('imports of types, re-exports and imports at run time are all read', async t => {
  const folder = folderWith(t, {
    'a.ts':
      "import type { B } from './b.ts';\nexport { c } from './c.ts';\nawait import('./d.ts');\nimport './e.ts';\n",
  });
  t.same(importGraph(folder).get('a.ts'), ['b.ts', 'c.ts', 'd.ts', 'e.ts']);
});

t.test('the modules of src keep to their borders', async t => {
  t.same(borderFaults(importGraph(new URL('../../src', import.meta.url).pathname), modules), []);
});

t.test('every file and function that the flows of docs/architecture.md name is there', async t => {
  const document = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  const flows = document.slice(document.indexOf('## The three flows'), document.indexOf('## Modules'));
  const named = [...flows.matchAll(/`((?!hooks\/)[a-z-]+(?:\/[a-z-]+)+)(?::(?:\w+\.)?(\w+))?`/g)];
  t.ok(named.length > 20);
  for (const [text, name, its = ''] of named) {
    const file = new URL(`../../src/${name}.ts`, import.meta.url);
    t.ok(existsSync(file) && readFileSync(file, 'utf8').includes(its), text);
  }
});
