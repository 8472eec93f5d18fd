/**
 * Tests that need neither root nor a package of Debian's, and the coverage that they keep.
 *
 * In each of these folders all tests are such, but for those that are named: they mount file systems, change
 * users, or run git or Redis.
 */

import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules: Readonly<Record<string, readonly string[]>> = {
  bounded: ['file'],
  client: [],
  config: [],
  daemon: [],
  documents: [],
  identity: [],
  'identity/oauth': [],
  layout: ['gitconfig', 'unreadable'],
  'layout/uploads': [],
  ledger: ['full-disk'],
  measuring: [],
  overview: [],
  policy: [],
  quota: [],
};

/** Per cent of the lines of these folders' files that have to run. */
const leastLines = 92;

const root = new URL('../', import.meta.url);

export const unitTests: readonly string[] = Object.entries(modules).flatMap(([module, others]) =>
  globSync(`test/${module}/*.test.ts`, { cwd: root })
    .filter(file => !others.some(name => file === `test/${module}/${name}.test.ts`))
    .sort(),
);

interface Lines {
  readonly lines: { readonly total: number; readonly covered: number };
}

/** Folder in which test files record what they cover, for tap to read. */
export const coverageDirectory = fileURLToPath(new URL('.tap/coverage', root));
const summary = fileURLToPath(new URL('.tap/report/coverage-summary.json', root));

/** Removes what earlier runs covered. */
export function forgetCoverage(): void {
  rmSync(coverageDirectory, { recursive: true, force: true });
  mkdirSync(coverageDirectory, { recursive: true });
  rmSync(summary, { force: true });
}

/**
 * Adds up what the unit tests covered since it was forgotten. `report` has a line for each module; `isEnough`
 * is false where all of them together are below the floor.
 */
export function unitCoverage(): { readonly report: string; readonly isEnough: boolean } {
  execFileSync('tap', ['report', '--coverage-report=json-summary'], { cwd: root, stdio: 'ignore' });
  const files = Object.entries<Lines>(JSON.parse(readFileSync(summary, 'utf8')));
  const rows = Object.keys(modules).map(module => {
    const found = files
      .filter(([path]) => dirname(path).endsWith(`/src/${module}`))
      .map(([, { lines }]) => lines);
    const sum = (key: keyof Lines['lines']) => found.reduce((all, lines) => all + lines[key], 0);
    return { module, covered: sum('covered'), total: sum('total') };
  });
  const percent = (of: readonly { readonly covered: number; readonly total: number }[]) =>
    (100 * of.reduce((all, { covered }) => all + covered, 0)) / of.reduce((all, { total }) => all + total, 0);
  const lines = rows.map(row => `# ${row.module}: ${percent([row]).toFixed(1)} % of the lines`);
  const all = percent(rows);
  lines.push(`# together: ${all.toFixed(1)} % of the lines; at least ${leastLines} % are expected`);
  return { report: `${lines.join('\n')}\n`, isEnough: all >= leastLines };
}
