/**
 * Holds the imports of `src/` against the declared map of modules: `node scripts/borders.ts`.
 *
 * Three things are faults: an import of another module past its `index.ts`, an import that
 * `scripts/modules.ts` does not declare (or declares and nobody uses), and files that import one another in a
 * circle. Exit: 0 none, 1 some, each named on standard error.
 */

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { modules } from './modules.ts';

/**
 * The files of a source tree, and for each the files of the tree that it imports, all relative to the tree.
 */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Imports and re-exports, of types as well, at the top of a file or when it runs. */
const importPattern = /(?:\bfrom|\bimport\(|^import) ?'(\.[^']+)'/gm;

/** One import in the wrong direction closes many circles. */
const mostCycles = 5;

/** Reads every TypeScript file below a directory. */
export function importGraph(directory: string): ImportGraph {
  const files = globSync('**/*.ts', { cwd: directory }).sort();
  return new Map(
    files.map(file => {
      const text = readFileSync(join(directory, file), 'utf8');
      const imported = [...text.matchAll(importPattern)].map(([, path = '']) =>
        normalize(join(dirname(file), path)),
      );
      return [file, [...new Set(imported)].filter(path => !path.startsWith('..'))];
    }),
  );
}

/**
 * Names everything in a tree that the map of modules does not allow; modules may only import those named
 * before them.
 */
export function borderFaults(
  graph: ImportGraph,
  declared: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const faults: string[] = [];
  const used = new Set<string>();
  for (const [file, imports] of graph) {
    const from = moduleOf(file);
    if (from === null) continue;
    if (declared[from] === undefined) faults.push(`${file}: scripts/modules.ts has no module ${from}`);
    for (const imported of imports) {
      const to = moduleOf(imported);
      if (to === null || to === from) continue;
      used.add(`${from} ${to}`);
      if (imported !== `${to}/index.ts`) faults.push(`${file}: imports ${imported} past ${to}/index.ts`);
      if (declared[from]?.includes(to) === false) {
        faults.push(`${file}: imports ${imported}, but scripts/modules.ts does not let ${from} import ${to}`);
      }
    }
  }
  const names = Object.keys(declared);
  for (const [from, allowed] of Object.entries(declared)) {
    for (const to of allowed) {
      if (names.indexOf(to) >= names.indexOf(from)) {
        faults.push(`scripts/modules.ts: ${from} may not import ${to}, which does not stand before it`);
      }
      if (!used.has(`${from} ${to}`)) {
        faults.push(`scripts/modules.ts: ${from} may import ${to}, but no file does`);
      }
    }
  }
  return [
    ...new Set(faults),
    ...cycles(graph)
      .slice(0, mostCycles)
      .map(cycle => `a cycle: ${cycle.join(' > ')}`),
  ];
}

/** The module that a file is in; null for the files beside the modules. */
function moduleOf(file: string): string | null {
  const [first = '', ...rest] = file.split('/');
  return rest.length === 0 ? null : first;
}

/** Each circle of imports that a walk in depth comes upon, its first file named again at its end. */
function cycles(graph: ImportGraph): readonly (readonly string[])[] {
  const found: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at !== -1) found.push([...path.slice(at), file]);
    if (at !== -1 || done.has(file)) return;
    path.push(file);
    for (const imported of graph.get(file) ?? []) visit(imported);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

if (import.meta.main) {
  const faults = borderFaults(importGraph(new URL('../src', import.meta.url).pathname), modules);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
