/**
 * Bundles src/ into dist/, with the packages that it needs and their licenses.
 *
 * Each entry is built for itself: it does its work when it is loaded, so no file may import it for something
 * that both need, as the bundler would have it if it saw them together. What the commands load when they run
 * is in files of its own. `bin` comes last: if it is there, all of them are.
 *
 * The client for programs is built in the same way, with its types beside it.
 */

import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import * as http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';
import { bundledName, type Entry, entries } from '../src/package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const outDir = join(root, 'dist');
/** Built by Vite from web/. */
const others = ['web', 'swagger'];

/**
 * Names of node:http whose values come from Node's own HTTP client, which is loaded with them: nothing here
 * uses it.
 */
const ofClient: ReadonlySet<string> = new Set(['CloseEvent', 'MessageEvent', 'WebSocket']);

/**
 * Takes what is used of node:http without importing it: an import looks at all that it exports, and so loads
 * Node's HTTP client, a tenth of the time in which a daemon starts.
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

/**
 * V8 keeps the text of what is loaded, in each thread, with two bytes a character if one is beyond Latin-1.
 * Names stay, so that the log's stacks can be read.
 */
const small = {
  compress: false,
  mangle: false,
  codegen: { removeWhitespace: true, asciiOnly: true },
} as const;

/** The entry of `softquota/client`. */
const client = 'client/index';

/** The entries that together need every package, and the files that their licenses go into. */
const licenses: Partial<Record<Entry | typeof client, string>> = {
  bin: 'licenses.txt',
  'forge/worker': 'licenses-forge.txt',
  'commands/width': 'licenses-width.txt',
};

function licensesOf(entry: Entry | typeof client): { readonly license?: { readonly fileName: string } } {
  const fileName = licenses[entry];
  return fileName === undefined ? {} : { license: { fileName } };
}

await mkdir(outDir, { recursive: true });
for (const name of await readdir(outDir)) {
  if (!others.includes(name)) await rm(join(outDir, name), { recursive: true });
}
await writeTypes();
await cp(join(root, 'src/notices/templates'), join(outDir, 'templates'), { recursive: true });
for (const entry of [client, ...entries] as const) {
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
        input: { [entry === client ? 'client' : bundledName(entry)]: `src/${entry}.ts` },
        treeshake: { moduleSideEffects: id => !id.startsWith(`${root}src/`) },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', minify: small },
      },
    },
  });
}

/** The client's types, which name the files that they need as every compiler finds them. */
async function writeTypes(): Promise<void> {
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'src/client')], { stdio: 'inherit' });
  for (const name of globSync('client/*.d.ts', { cwd: outDir })) {
    const file = join(outDir, name);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(/(?<= from '\.\/[\w-]+)\.ts(?=')/g, '.js'));
  }
}
