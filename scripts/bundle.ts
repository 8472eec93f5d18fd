/**
 * Bundles src/ into dist/, with the packages that it needs and their licenses.
 *
 * Each entry is built for itself: it does its work when it is loaded, so no file may import it for something
 * that both need, as the bundler would have it if it saw them together. What the commands load when they run is
 * in files of its own. `bin` comes last: if it is there, all of them are.
 */

import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { bundledName, entries } from '../src/package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const outDir = join(root, 'dist');
/** Built by Vite from web/. */
const others = ['web', 'swagger'];

await mkdir(outDir, { recursive: true });
for (const name of await readdir(outDir)) {
  if (!others.includes(name)) await rm(join(outDir, name), { recursive: true });
}
for (const entry of entries) {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node24',
      outDir,
      emptyOutDir: false,
      ...(entry === 'bin' ? { license: { fileName: 'licenses.txt' } } : {}),
      rolldownOptions: {
        input: { [bundledName(entry)]: `src/${entry}.ts` },
        treeshake: { moduleSideEffects: id => !id.startsWith(`${root}src/`) },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  });
}
