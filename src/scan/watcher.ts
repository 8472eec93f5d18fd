/**
 * Looks at the directories above the units again and again, on a thread that is asked to for a moment at a
 * time, and keeps what it saw.
 */

import type { Layout, Root } from '../layout/index.ts';
import { Directories } from './directories.ts';
import type { Missed, Watched } from './messages.ts';
import { monotonic } from './shared.ts';

const sliceMs = 10;

/** The directories that this thread watches; null before it was asked to. */
let watched: readonly Directories[] | null = null;
/** The pass under way: what there is still to look at, and what was missed. */
let steps: Iterator<void, void> | null = null;
const missed: Missed[] = [];

export function watchForAMoment(layout: Layout, roots: readonly Root[]): Watched {
  const begun = monotonic();
  const all = watched ?? roots.map(root => new Directories(layout, root));
  watched = all;
  steps ??= passOver(all);
  let isOver = false;
  while (!isOver && monotonic() - begun < sliceMs) isOver = steps.next().done === true;
  const found = all.flatMap(directories => directories.takeFound());
  if (!isOver) return { found, pass: null, milliseconds: monotonic() - begun };
  steps = null;
  const directories = all.reduce((sum, { size }) => sum + size, 0);
  const pass = { missed: missed.splice(0), directories };
  return { found, pass, milliseconds: monotonic() - begun };
}

function* passOver(all: readonly Directories[]): Generator<void, void> {
  for (const directories of all) missed.push(yield* directories.pass());
}
