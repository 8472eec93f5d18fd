/**
 * Bundles src/ into dist/, with the packages that it needs and their licenses.
 *
 * Each entry is built for itself: it does its work when it is loaded, so no file may import it for something
 * that both need, as the bundler would have it if it saw them together. What the commands load when they run is
 * in files of its own.
 */

import { glob, rm } from 'node:fs/promises';
import { build } from 'vite';
import { bundledName, entries } from '../src/package.ts';

const root = new URL('..', import.meta.url).pathname;

for await (const file of glob(`${root}dist/*.{js,txt}`)) await rm(file);
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
      outDir: 'dist',
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
