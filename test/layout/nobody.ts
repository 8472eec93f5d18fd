/**
 * Run by itself: asks the layout, without root's rights, what the templates in the first argument find.
 *
 * In: JSON `{ storages, exclude, paths }`. Out: JSON `{ roots, found, located, inspected }`.
 */

import { discover, inspect, locate, resolveLayout } from '../../src/layout/index.ts';

const { storages, exclude, paths } = JSON.parse(process.argv[2] ?? '');
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(65534);
  process.setuid?.(65534);
}
const layout = resolveLayout(storages, exclude);
const answer = {
  roots: layout.roots.map(({ written, state, error }) => ({ written, state, error })),
  found: [...discover(layout)].filter(found => found.type !== 'listed'),
  located: paths.map((path: string) => locate(layout, path)),
  inspected: paths.map((path: string) => inspect(layout, path)),
};
process.stdout.write(JSON.stringify(answer));
