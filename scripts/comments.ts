/**
 * Lists the comments that open with a fragment instead of a sentence: `node scripts/comments.ts [PATH…]`.
 *
 * A comment begins with a verb or a noun, so that it can be understood without the code around it. PATH is a file
 * or a folder; without one, all TypeScript of the repository is read. Exit: 0 none, 1 some, each named on
 * standard error.
 */

import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Folders that are read when no path is given. */
const folders = ['src', 'web/src', 'scripts', 'bench', 'test'];

/** Words that open a fragment, as parts of a regular expression. */
const openings = [
  'As|Of|Such|Than|The same',
  'How|What|Whatever|Where|Whether|Which|Who|Whoever|Whom|Whose',
  'So (far|long|many|much|often)',
  '(After|At|By|For|From|In|On|Since|To|Until|Up to|With) (so|what|when|which|whom|whose)',
];

const fragment = new RegExp(`^(${openings.join('|')})\\b`);

/** Finds the first text of each doc comment, and of each group of lines with `//`. */
const opening = /^[ \t]*\/\*\*?\s*(?:\* )?(\S.*)|(?<!^[ \t]*\/\/.*\n)^[ \t]*\/\/ (.*)/gm;

/** Names the comments of a text that open with a fragment, each as `LINE: first line of the comment`. */
export function fragments(text: string): readonly string[] {
  return [...text.matchAll(opening)].flatMap(({ index, 1: doc, 2: line }) => {
    const first = doc ?? line ?? '';
    if (!fragment.test(first)) return [];
    return [`${text.slice(0, index).split('\n').length}: ${first}`];
  });
}

if (import.meta.main) {
  process.chdir(join(import.meta.dirname, '..'));
  const paths = process.argv.length > 2 ? process.argv.slice(2) : folders;
  const files = paths.flatMap(path =>
    statSync(path).isDirectory()
      ? globSync(join(path, '**/*.{ts,tsx}'), { exclude: ['**/node_modules'] }).sort()
      : [path],
  );
  const found = files.flatMap(file => fragments(readFileSync(file, 'utf8')).map(line => `${file}:${line}`));
  for (const line of found) console.error(line);
  if (found.length > 0) process.exitCode = 1;
}
