/**
 * Prints how large the project is: of each module its files, lines of code and of comments, and exported names.
 *
 * With `--write` it writes docs/reference/size.md instead, with the day. No check compares that page with the code,
 * which changes with every line.
 */

import { globSync, readFileSync, writeFileSync } from 'node:fs';

interface Size {
  readonly files: number;
  readonly code: number;
  readonly comments: number;
  /** Blank ones as well. */
  readonly lines: number;
  readonly exports: number;
}

const nothing: Size = { files: 0, code: 0, comments: 0, lines: 0, exports: 0 };
const exported =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const|function\*?|class|interface|type|enum) /;

function sizeOf(file: string): Size {
  let [code, comments, exports] = [0, 0, 0];
  let isInComment = false;
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const line of lines) {
    const text = line.trim();
    if (text === '') continue;
    const isComment = isInComment || text.startsWith('//') || text.startsWith('/*');
    if (isComment) comments += 1;
    else code += 1;
    if (text.startsWith('/*')) isInComment = true;
    if (text.includes('*/')) isInComment = false;
    if (exported.test(line)) exports += 1;
  }
  return { files: 1, code, comments, lines: lines.length - 1, exports };
}

function sum(sizes: readonly Size[]): Size {
  return sizes.reduce(
    (all, each) => ({
      files: all.files + each.files,
      code: all.code + each.code,
      comments: all.comments + each.comments,
      lines: all.lines + each.lines,
      exports: all.exports + each.exports,
    }),
    nothing,
  );
}

function row(name: string, { files, code, comments, lines, exports }: Size): string {
  return `| ${name} | ${[files, code, comments, lines, exports].join(' | ')} |`;
}

const kinds = '**/*.{ts,tsx,js,sh}';
const modules = new Map<string, Size[]>();
for (const file of globSync(`src/${kinds}`).toSorted()) {
  const [, module = '', ...below] = file.split('/');
  const name = below.length === 0 ? 'src/*.ts' : `src/${module}`;
  modules.set(name, [...(modules.get(name) ?? []), sizeOf(file)]);
}
const rows = [...modules].map(([name, sizes]) => row(name, sum(sizes)));
const others = ['web/src', 'test', 'bench', 'scripts'].map(folder =>
  row(folder, sum(globSync(`${folder}/${kinds}`, { exclude: ['**/node_modules'] }).map(sizeOf))),
);
const table = [
  '| | files | code | comments | lines | exported names |',
  '|---|---|---|---|---|---|',
  ...rows,
  row('**src**', sum([...modules.values()].flat())),
  ...others,
].join('\n');

if (process.argv.includes('--write')) {
  const day = new Date().toISOString().slice(0, 10);
  const page = `# Size\n\nCounted on ${day}, and written by \`npm run size -- --write\`.\n\n${table}\n`;
  writeFileSync('docs/reference/size.md', page);
} else {
  console.log(table);
}
