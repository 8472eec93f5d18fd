/** The layout as it lies now, with the links in it that are followed. */

import { discover } from './discover.ts';
import { type Layout, layoutWithoutLinks, type StorageSettings } from './layout.ts';
import { withLink } from './links.ts';

/** A link may lie behind another one. */
const mostRounds = 4;

/**
 * Resolves the storage. `known`: the links that are followed, if they may be still; unless given, all are looked
 * for, which takes as long as `discover`. Throws `configuration` for a template that is none.
 */
export function resolveLayout(...given: Parameters<typeof resolving>): Layout {
  const steps = resolving(...given);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Resolves the storage in steps, as `resolveLayout` does at once. */
export function* resolving(
  storages: readonly StorageSettings[],
  exclude: readonly string[],
  known: readonly string[] | null = null,
): Generator<void, Layout> {
  let layout = layoutWithoutLinks(storages, exclude);
  for (let round = 0; round < mostRounds && layout.follow.length > 0; round++) {
    const before = layout;
    // Known ones come in the order in which they were found: one that lies behind another comes after it.
    for (const path of known ?? (yield* linksIn(layout))) {
      layout = withLink(layout, path);
      yield;
    }
    if (layout === before) break;
  }
  return layout;
}

/** The links in a layout that may be followed, and are not yet, in the order of paths. */
function* linksIn(layout: Layout): Generator<void, readonly string[]> {
  const links: string[] = [];
  for (const found of discover(layout)) {
    if (found.type === 'link') links.push(found.path);
    yield;
  }
  return links.sort();
}
