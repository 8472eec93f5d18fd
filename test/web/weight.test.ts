/** Weight of what a browser loads before it shows anything. */

import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

const root = new URL('../../', import.meta.url);
await promisify(execFile)(fileURLToPath(new URL('scripts/build', root)));
const built = new URL('dist/web/', root);
const page = await readFile(new URL('index.html', built), 'utf8');
const files = [...page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path = '']) => path);

t.test('a first visit loads less than 150 kB', async t => {
  t.ok(files.some(file => file.endsWith('.js')) && files.some(file => file.endsWith('.css')));
  let bytes = Buffer.byteLength(page);
  for (const file of files) bytes += (await stat(new URL(`${file}.br`, built))).size;
  t.ok(bytes < 150_000, `${bytes} bytes`);
});

t.test('all that is loaded stands in the page, so that nothing waits for something else', async t => {
  const others = (await readdir(new URL('assets/', built))).filter(name => /\.(js|css|svg)$/.test(name));
  t.same(others.map(name => `assets/${name}`).sort(), files.toSorted());
});

t.test('whatever is loaded is there compressed, and who made it is named', async t => {
  for (const file of files) {
    for (const ending of ['br', 'gz']) t.ok((await stat(new URL(`${file}.${ending}`, built))).size > 0);
  }
  t.match(await readFile(new URL('licenses.txt', built), 'utf8'), /## preact /);
  t.notMatch(page, /<script[^>]*>[^<]|<style| style=| on\w+=/, 'nothing is inline');
});
