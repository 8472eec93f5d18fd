/**
 * Run by itself: what the layout answers to one who is not root.
 *
 * In: a `Question` as JSON, the first argument. Out: an `Answer` as JSON.
 */

import {
  type Discovered,
  discover,
  inspect,
  type Located,
  locate,
  type Root,
  resolveLayout,
  type StorageSettings,
} from '../../src/layout/index.ts';

export interface Question {
  readonly storages: readonly StorageSettings[];
  readonly exclude: readonly string[];
  readonly paths: readonly string[];
}

export interface Answer {
  readonly roots: readonly Pick<Root, 'state' | 'error'>[];
  /** The units first, each type in the order of the paths. */
  readonly found: readonly Discovered[];
  /** Answers for the question's paths. */
  readonly located: readonly Located[];
  readonly inspected: readonly Located[];
}

const { storages, exclude, paths }: Question = JSON.parse(process.argv[2] ?? '');
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(65534);
  process.setuid?.(65534);
}
const layout = resolveLayout(storages, exclude);
const place = (found: Discovered) => `${found.type} ${found.type === 'unit' ? found.unit.path : found.path}`;
const answer: Answer = {
  roots: layout.roots.map(({ state, error }) => (error === undefined ? { state } : { state, error })),
  found: [...discover(layout)]
    .filter(found => found.type !== 'listed')
    .sort((a, b) => (place(a) < place(b) ? -1 : 1)),
  located: paths.map(path => locate(layout, path)),
  inspected: paths.map(path => inspect(layout, path)),
};
process.stdout.write(JSON.stringify(answer));
