/**
 * Bundles src/ into dist/, with the packages that it needs and their licenses.
 *
 * Each entry is built for itself: it does its work when it is loaded, so no file may import it for something
 * that both need, as the bundler would have it if it saw them together. What the commands load when they run is
 * in files of its own. `bin` comes last: if it is there, all of them are.
 */

import { mkdir, readdir, rm } from 'node:fs/promises';
import * as http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';
import { bundledName, entries } from '../src/package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const outDir = join(root, 'dist');
/** Built by Vite from web/. */
const others = ['web', 'swagger'];

/** Names of node:http whose values come from Node's own HTTP client, which is loaded with them: nothing here uses it. */
const ofClient: ReadonlySet<string> = new Set(['CloseEvent', 'MessageEvent', 'WebSocket']);

/**
 * Takes what is used of node:http without importing it: an import looks at all that it exports, and so loads Node's
 * HTTP client, a tenth of the time in which a daemon starts.
 */
const plainHttp: Plugin = {
  name: 'plain-http',
  enforce: 'pre',
  resolveId: id => (id === 'node:http' ? '\0plain-http' : null),
  load: id => {
    if (id !== '\0plain-http') return null;
    const names = Object.keys(http).filter(name => name !== 'default' && !ofClient.has(name));
    return `const http = process.getBuiltinModule('node:http');
export default http;
${names.map(name => `export const ${name} = http.${name};`).join('\n')}`;
  },
};

/** The entries that together need every package, and the files that their licenses go into. */
function licensesOf(entry: (typeof entries)[number]): { readonly license?: { readonly fileName: string } } {
  if (entry === 'bin') return { license: { fileName: 'licenses.txt' } };
  return entry === 'forge/worker' ? { license: { fileName: 'licenses-forge.txt' } } : {};
}

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
    plugins: [plainHttp],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node24',
      outDir,
      emptyOutDir: false,
      ...licensesOf(entry),
      rolldownOptions: {
        input: { [bundledName(entry)]: `src/${entry}.ts` },
        treeshake: { moduleSideEffects: id => !id.startsWith(`${root}src/`) },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  });
}
