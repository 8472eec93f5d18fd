/**
 * Measures claims and writes their sections of performance.md: `node bench/performance.ts [CLAIM ...]`.
 *
 * In: names of claims; all of them unless given. Each section is written when it has been measured, so what
 * was measured before an interruption stays. Exit: 0 all was measured, whether the goals were met or not; 1
 * something could not be, which is told on standard error.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hostTable } from './host.ts';

/** Claims of the page, in the order of their sections. Those of a push are in bench/results.md. */
const claims = [
  'walk',
  'quiet',
  'gate',
  'uploads',
  'start',
  'scale',
  'day',
  'api',
  'web',
  'pages',
  'history',
  'shared',
  'forge',
];

const page = fileURLToPath(new URL('./performance.md', import.meta.url));
const widest = 110;
const marker = /^<!-- bench: (\S+) -->\n/gm;

const asked = process.argv.slice(2);
const unknown = asked.filter(claim => !claims.includes(claim));
if (unknown.length > 0) {
  process.stderr.write(`${unknown.join(', ')}: no such claim; there are ${claims.join(', ')}\n`);
  process.exit(1);
}
for (const claim of asked.length > 0 ? asked : claims) {
  const source = fileURLToPath(new URL(`./${claim}.ts`, import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [source], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) {
    process.stderr.write(`${claim} could not be measured\n`);
    process.exitCode = 1;
    continue;
  }
  process.stdout.write(stdout);
  write(claim, stdout.trim());
}

/** Puts a section in place of the one of this claim. */
function write(claim: string, section: string): void {
  const sections = new Map([...sectionsOf(readFileSync(page, 'utf8')), [claim, wrapped(section)]]);
  const inOrder = claims.flatMap(name => {
    const text = sections.get(name);
    return text === undefined ? [] : [`<!-- bench: ${name} -->\n${text}\n`];
  });
  writeFileSync(page, `${head()}\n${inOrder.join('\n')}`);
}

function sectionsOf(text: string): readonly (readonly [string, string])[] {
  const [, ...parts] = text.split(marker);
  return parts.flatMap((name, at) => (at % 2 === 0 ? [[name, (parts[at + 1] ?? '').trim()] as const] : []));
}

function head(): string {
  return wrapped(`# Measured claims

How fast softquota is, beside what you would use instead. \`bench/run\` measures it; [README.md](README.md) says what each figure means. Figures are medians with the smallest and largest in brackets. A ratio is softquota's figure to the other's, the median of what each round gave. [docs/sizing.md](../docs/sizing.md) says how much memory, disk and time a server needs. What a push takes is in [results.md](results.md).

${hostTable()}
`);
}

/** Wraps prose and lists; tables and headings stay as they are. */
function wrapped(text: string): string {
  return text
    .split('\n')
    .flatMap(line => (line.length <= widest || /^[|#]/.test(line) ? [line] : linesOf(line)))
    .join('\n');
}

function linesOf(text: string): readonly string[] {
  const indent = text.startsWith('- ') ? '  ' : '';
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > widest) {
      lines.push(line);
      line = indent + word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
