/**
 * Holds the exported names of `src/` against each other: `node scripts/same-names.ts`.
 *
 * A name that two files export means two things to whoever reads it. Those that stay are listed here, with
 * the reason. Exit: 0 no other is there twice, and each that is listed is; 1 else, each named on standard
 * error.
 */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const shapes =
  'what the API calls a thing is what the code calls it: `wire` has the shape, the module the thing';
const stores = 'each store has its own, for the same purpose';
const sections = 'a section or a kind of value of the configuration, beside a field of the API';

/** The reason of each name that several files export. */
export const deliberate: Readonly<Record<string, string>> = {
  Answer: stores,
  Explanation: shapes,
  Group: shapes,
  Growth: shapes,
  History: shapes,
  NewSource: shapes,
  NewToken: shapes,
  Request: stores,
  Rule: shapes,
  RuleEdit: shapes,
  SharedStore: shapes,
  ThreadSettings: stores,
  WholePolicy: shapes,
  away: stores,
  damaged: stores,
  failureOf: stores,
  limit: sections,
};

const pattern = /^export (?:abstract |async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;

/** Gives the names that several files below a directory export, each with those files. */
export function sameNames(directory: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const file of globSync('**/*.ts', { cwd: directory }).sort()) {
    for (const [, name = ''] of readFileSync(join(directory, file), 'utf8').matchAll(pattern)) {
      found.set(name, (found.get(name) ?? new Set()).add(file));
    }
  }
  return new Map([...found].filter(([, files]) => files.size > 1).map(([name, files]) => [name, [...files]]));
}

/** Names what is there twice and not listed, and what is listed and not there twice. */
export function nameFaults(
  names: ReadonlyMap<string, readonly string[]>,
  listed: Readonly<Record<string, string>>,
): readonly string[] {
  return [
    ...[...names].flatMap(([name, files]) =>
      Object.hasOwn(listed, name)
        ? []
        : [`${name} is exported by ${files.join(' and ')}: give each its own name`],
    ),
    ...Object.keys(listed).flatMap(name =>
      names.has(name) ? [] : [`scripts/same-names.ts lists ${name}, which is exported once at most`],
    ),
  ];
}

if (import.meta.main) {
  const faults = nameFaults(sameNames(join(import.meta.dirname, '../src')), deliberate);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
