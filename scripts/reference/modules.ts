/**
 * The table of modules in docs/architecture.md: what each promises, in the words of its index.ts, and what it
 * may import.
 */

import { readFileSync } from 'node:fs';
import { modules } from '../modules.ts';

const root = new URL('../../', import.meta.url);
const begin = '<!-- modules: written by npm run generate -->';
const end = '<!-- end of modules -->';

/** docs/architecture.md with the table as it should be; all else stays. */
export function architecture(): string {
  const text = readFileSync(new URL('docs/architecture.md', root), 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) {
    throw new Error(
      `docs/architecture.md lacks "${begin}" or "${end}", between which the table of modules stands`,
    );
  }
  return `${before}${begin}\n${table()}${end}${after}`;
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
