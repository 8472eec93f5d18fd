/**
 * Every regular expression takes time in proportion to the text, whatever the text is.
 *
 * JavaScript's engine steps back. Where two repetitions can take the same characters, or a search can begin
 * anywhere in what a repetition takes, a text of some 100 kB takes minutes, and meanwhile nobody is answered.
 */

import { globSync, readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import { analyse } from 'scslre';
import t from 'tap';
import { parseAst } from 'vite';

interface Found {
  /** `file:line` */
  readonly place: string;
  readonly expression: RegExp;
}

/**
 * Regular expressions in a source text, and the places where one is made of something else than a literal.
 */
function expressionsIn(file: string, source: string): { found: Found[]; made: string[] } {
  const found: Found[] = [];
  const made: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('type' in node && 'start' in node && typeof node.start === 'number') {
      const place = `${file}:${source.slice(0, node.start).split('\n').length}`;
      if (node.type === 'Literal' && 'regex' in node) {
        // The parser's own shape of such a literal.
        const { pattern, flags } = node.regex as { pattern: string; flags: string };
        found.push({ place, expression: new RegExp(pattern, flags) });
      }
      if (isMade(node)) made.push(place);
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }));
  return { found, made };
}

/** `RegExp(…)`, with or without `new`. */
function isMade(node: object): boolean {
  if (!('callee' in node) || typeof node.callee !== 'object' || node.callee === null) return false;
  return 'name' in node.callee && node.callee.name === 'RegExp';
}

/** Faults of an expression in theory: for texts that repeat one character. */
function faultsOf(expression: RegExp): readonly string[] {
  return analyse(expression).reports.map(({ type, exponential, character }) => {
    const degree = exponential ? 'exponential' : 'quadratic or worse';
    return `${expression}: ${degree} (${type}), by many of ${JSON.stringify(character.pick)}`;
  });
}

const textLength = 60_000;
/** A look at each character takes less than a tenth of it; each pair of characters many times as long. */
const mostMs = 100;

const tried = createContext({});

/** Gives up after a while: there are expressions that would take years. */
function tryOut(expression: RegExp, text: string): void {
  Object.assign(tried, { expression, text });
  try {
    runInContext('expression.lastIndex = 0; expression.exec(text)', tried, { timeout: 10 * mostMs });
  } catch (error) {
    // It is of that context's own kind.
    const isLate = typeof error === 'object' && error !== null && 'code' in error;
    if (!isLate || error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
}

/** A text that it is slow for, when it is tried with texts that repeat a piece of it after another one. */
function slowTextFor(expression: RegExp): readonly string[] {
  const words = expression.source
    .split(/\\[a-zA-Z](?:\{[^}]*\})?|\[[^\]]*\]|[\\^$.*+?()|{}]/)
    .filter(word => word !== '');
  const pumps = new Set([...words, ...expression.source, ' ', '\t', '\n', 'a', '0', '\\"', 'a.', '%']);
  const starts = new Set(['', ...words, words.join('')]);
  for (const start of starts) {
    for (const pump of pumps) {
      const text = `${start}${pump.repeat(textLength / pump.length)}\0`;
      const before = process.threadCpuUsage();
      tryOut(expression, text);
      const { user, system } = process.threadCpuUsage(before);
      if (user + system > mostMs * 1000) return [`${expression}: slow for ${JSON.stringify(start + pump)}…`];
    }
  }
  return [];
}

t.test('what is known to be slow is found', async t => {
  for (const expression of [/0+$/, /^(a+)+$/, /^\d+\d+x$/, /^\s*([^=]*?)\s*=/]) {
    t.not(faultsOf(expression).length, 0, `${expression}`);
  }
  for (const expression of [/0+$/, /bob.*over/, /(.)\/+$/, /<([^>]*)>; rel/]) {
    t.not(slowTextFor(expression).length, 0, `${expression}`);
  }
  const { found, made } = expressionsIn('a.ts', "const a: RegExp = /b/u;\nconst c = new RegExp('c');");
  t.match(found, [{ place: 'a.ts:1', expression: /b/u }]);
  t.same(made, ['a.ts:2'], 'only what is a literal can be looked at');
});

t.test('no regular expression of the daemon, the commands or the web UI is', async t => {
  const files = [...globSync('src/**/*.ts'), ...globSync('web/src/**/*.{ts,tsx}')];
  const all = files.map(file => expressionsIn(file, readFileSync(file, 'utf8')));
  const found = all.flatMap(each => each.found);
  t.ok(found.length > 100, `${found.length} in ${files.length} files`);
  t.same(
    all.flatMap(({ made }) => made),
    [],
    'each is a literal',
  );
  t.same(
    found.flatMap(({ place, expression }) => faultsOf(expression).map(fault => `${place} ${fault}`)),
    [],
  );
  t.same(
    found.flatMap(({ place, expression }) => slowTextFor(expression).map(fault => `${place} ${fault}`)),
    [],
  );
});
