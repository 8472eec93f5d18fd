/** Makes the layout from the current state of the disk, with the links that are followed. */

import { runToEnd, type Work } from '../slices.ts';
import { discover } from './discover.ts';
import { type Layout, layoutWithoutLinks, type StorageSettings } from './layout.ts';
import { withLink } from './links.ts';

/** A link may lie behind another one. */
const mostRounds = 4;

/**
 * Resolves the storage. `known`: the links to follow, each if that is still allowed; unless given, all links
 * are searched, which takes as long as `discover`. Throws `configuration` for an invalid template.
 */
export function resolveLayout(...given: Parameters<typeof resolving>): Layout {
  return runToEnd(resolving(...given));
}

/** Does the work of `resolveLayout` in steps. */
export function* resolving(
  storages: readonly StorageSettings[],
  exclude: readonly string[],
  known: readonly string[] | null = null,
): Work<Layout> {
  let layout = layoutWithoutLinks(storages, exclude);
  for (let round = 0; round < mostRounds && layout.follow.length > 0; round++) {
    const before = layout;
    // Known links are in the order in which they were found, so one that lies behind another comes after it.
    for (const path of known ?? (yield* linksIn(layout))) {
      layout = withLink(layout, path);
      yield;
    }
    if (layout === before) break;
  }
  return layout;
}

/** Finds the links that may be followed and are not yet, in the order of their paths. */
function* linksIn(layout: Layout): Work<readonly string[]> {
  const links: string[] = [];
  for (const found of discover(layout)) {
    if (found.type === 'link') links.push(found.path);
    yield;
  }
  return links.sort();
}
