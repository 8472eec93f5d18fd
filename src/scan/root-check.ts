/**
 * Checks the storage roots when a single known unit is not there any more.
 *
 * A sweep sees all units; here a sample of them is looked for. So one repository that was deleted is told
 * from a disk that was taken away or replaced, by the very decision that a sweep makes.
 */

import { walkedRoots } from '../layout/index.ts';
import type { ScannerParts } from './options.ts';
import { knownByRoot, type SweptRoot, sweptRoots } from './roots.ts';
import { monotonic } from './shared.ts';

/** Many units that go one after the other are one question. */
const freshMs = 1000;

const deadlineMs = 5000;
const mostLookedFor = 100;

/**
 * Returns a function that gives the roots as after a sweep; null where the disk does not answer in time. It
 * never rejects.
 */
export function rootCheck(parts: ScannerParts): () => Promise<readonly SweptRoot[] | null> {
  let last: { at: number; readonly roots: Promise<readonly SweptRoot[] | null> } | null = null;
  return () => {
    if (last !== null && monotonic() - last.at <= freshMs) return last.roots;
    const next = { at: Number.POSITIVE_INFINITY, roots: look(parts).catch(() => null) };
    void next.roots.then(() => {
      next.at = monotonic();
    });
    last = next;
    return next.roots;
  };
}

async function look({ context, options, threads }: ScannerParts): Promise<readonly SweptRoot[]> {
  const { storages, exclude } = context();
  const layout = await threads.ask('resolve', [storages, exclude], null, deadlineMs);
  const roots = walkedRoots(layout);
  const known = await knownByRoot(roots, options.figures);
  const samples = new Map([...known].map(([path, units]) => [path, spread(units, mostLookedFor)]));
  const paths = [...new Set([...samples.values()].flat())];
  const absent = new Set(await threads.ask('absent', [paths], null, deadlineMs));
  const seen = new Set(paths.filter(path => !absent.has(path)));
  return sweptRoots(roots, roots, { seen, absent }, options.figures, samples, false);
}

/** Some of many, in equal distances. */
function spread(all: readonly string[], most: number): readonly string[] {
  if (all.length <= most) return all;
  return all.filter(
    (_, index) => Math.floor((index * most) / all.length) !== Math.floor(((index - 1) * most) / all.length),
  );
}
