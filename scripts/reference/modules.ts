/**
 * The table of modules in docs/reference/modules.md: what each promises, in the words of its index.ts, and
 * what it may import.
 */

import { readFileSync } from 'node:fs';
import { modules } from '../modules.ts';

const root = new URL('../../', import.meta.url);
/** The page with the table. */
export function modulesPage(): string {
  return `# Modules

Written by \`npm run generate\`. [architecture.md](../architecture.md) has the flows between them.

${table()}`;
}

function table(): string {
  const rows = Object.entries(modules).map(
    ([name, allowed]) => `| \`${name}\` | ${promiseOf(name)} | ${allowed.join(', ') || 'none'} |\n`,
  );
  return `| module | what it promises | may import |\n|---|---|---|\n${rows.join('')}`;
}

/** The first sentence of the comment that opens the module's index.ts. */
function promiseOf(name: string): string {
  const text = readFileSync(new URL(`src/${name}/index.ts`, root), 'utf8');
  const comment = /^\/\*\*(.*?)\*\//s.exec(text)?.[1] ?? '';
  const words = comment
    .replaceAll(/^ *\*? ?/gm, '')
    .trim()
    .replaceAll('\n', ' ');
  const sentence = /^.+?\.(?= |$)/.exec(words)?.[0];
  if (sentence === undefined)
    throw new Error(`src/${name}/index.ts does not open with a comment that says what it promises`);
  return sentence;
}
