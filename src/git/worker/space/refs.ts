/** The refs that alone hold much: what deleting each of them would free. */

import { decodePath } from '../../../layout/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { allTips, bytesOf, objectsOf } from './measure.ts';
import type { RepositoryView, RunLimits } from './view.ts';

export interface HoldingRef extends Omit<SpaceReport['refs'][number], 'frees' | 'commands'> {
  /** Those that nothing else reaches. */
  readonly objects: number;
}

interface RefHolders {
  readonly refs: readonly HoldingRef[];
  /** Refs that users cannot delete by a push, as a rule, and the reflogs, with what only they hold together. */
  readonly namespaces: SpaceReport['namespaces'];
  /** Not all could be looked at within the time. */
  readonly isCut: boolean;
}

interface Ref {
  readonly name: string;
  readonly tip: string;
  /** The commit that it leads to, through tags. */
  readonly commit: string;
}

const quickMs = 600;
const mostRefs = 20;
const mostMeasured = 40;
const mostNamespaces = 10;
const mostListed = 200_000;
/** The mark of commits that several refs reach. */
const several = -1;

/** All that something reaches. */
interface Reached {
  readonly bytes: number;
  readonly objects: number;
  /** Milliseconds that the search took. */
  readonly tookMs: number;
}

/** Goes on until `deadline`, by the monotonic clock. */
export async function holdingRefs(
  view: RepositoryView,
  reached: Reached,
  limits: RunLimits,
  deadline: number,
): Promise<RefHolders> {
  const { refs, head, isCut: isListCut } = await listRefs(view, limits);
  const commits = await ownCommits(view, refs, limits);
  const candidates = [...commits].sort(([, a], [, b]) => b - a);
  let isCut = isListCut || candidates.length > mostMeasured;
  const holding: HoldingRef[] = [];
  for (const [index, count] of candidates.slice(0, mostMeasured)) {
    const ref = refs[index];
    if (ref === undefined) continue;
    if (performance.now() > deadline) {
      isCut = true;
      break;
    }
    const own = await heldBy(view, ref, reached, limits);
    if (own.bytes > 0)
      holding.push({ name: ref.name, ...own, commits: count, default_branch: ref.name === head });
  }
  const namespaces = await holdingNamespaces(view, refs, reached.bytes, limits);
  return { refs: holding.sort((a, b) => b.bytes - a.bytes).slice(0, mostRefs), namespaces, isCut };
}

/**
 * Counts the objects that only this ref reaches. Between commits git compares only the trees at the border,
 * and so takes a file that came back from an older version for new; where all can be gone through quickly,
 * the difference is exact.
 */
async function heldBy(
  view: RepositoryView,
  { name, tip }: Ref,
  reached: Reached,
  limits: RunLimits,
): Promise<Pick<HoldingRef, 'bytes' | 'objects'>> {
  const others = [`--exclude=${name}`, ...allTips];
  if (reached.tookMs < quickMs) {
    const left = await objectsOf(view, others, limits);
    return {
      bytes: Math.max(0, reached.bytes - left.bytes),
      objects: Math.max(0, reached.objects - left.objects),
    };
  }
  return objectsOf(view, [tip, '--not', `--exclude=${name}`, '--all', '--reflog'], limits);
}

async function listRefs(
  view: RepositoryView,
  limits: RunLimits,
): Promise<{ readonly refs: readonly Ref[]; readonly head: string | null; readonly isCut: boolean }> {
  const refs: Ref[] = [];
  let head: string | null = null;
  let isCut = false;
  const format = '--format=%(HEAD) %(objectname) %(*objectname) %(refname)';
  await view.lines([{ args: ['for-each-ref', format] }], limits, line => {
    const [, mark, own = '', peeled = '', bytes = ''] = /^(.) ([0-9a-f]+) ([0-9a-f]*) (.*)$/.exec(line) ?? [];
    const name = decodePath(Buffer.from(bytes, 'latin1'));
    if (refs.length >= mostListed) {
      isCut = true;
      return;
    }
    if (mark === '*') head = name;
    refs.push({ name, tip: own, commit: peeled === '' ? own : peeled });
  });
  return { refs, head, isCut };
}

/** By the index of a ref, how many commits it alone reaches; refs that share all with others are left out. */
async function ownCommits(
  view: RepositoryView,
  refs: readonly Ref[],
  limits: RunLimits,
): Promise<ReadonlyMap<number, number>> {
  // The ref that reaches a commit, for commits that are still to come and have a child that has come.
  const reachedBy = new Map<string, number>();
  const reach = (commit: string, by: number): void => {
    const before = reachedBy.get(commit);
    reachedBy.set(commit, before === undefined || before === by ? by : several);
  };
  for (const [index, { commit }] of refs.entries()) reach(commit, index);
  const counts = new Map<number, number>();
  const tips = ['--all', '--reflog'];
  const args = ['rev-list', '--topo-order', '--parents', ...tips];
  await view.lines([{ args }], limits, line => {
    const [commit = '', ...parents] = line.split(' ');
    // Objects that only a reflog reaches belong to no ref.
    const by = reachedBy.get(commit) ?? several;
    reachedBy.delete(commit);
    if (by !== several) counts.set(by, (counts.get(by) ?? 0) + 1);
    for (const parent of parents) reach(parent, by);
  });
  return counts;
}

async function holdingNamespaces(
  view: RepositoryView,
  refs: readonly Ref[],
  reachableBytes: number,
  limits: RunLimits,
): Promise<SpaceReport['namespaces']> {
  const counts = new Map<string, number>();
  for (const { name } of refs) {
    const [, space = ''] = /^(refs\/[^/]+\/)/.exec(name) ?? [];
    if (space === '' || space === 'refs/heads/' || space === 'refs/tags/') continue;
    counts.set(space, (counts.get(space) ?? 0) + 1);
  }
  const found: SpaceReport['namespaces'] = [];
  for (const [name, count] of [...counts].sort(([, a], [, b]) => b - a).slice(0, mostNamespaces)) {
    const without = await bytesOf(view, [`--exclude=${name}*`, ...allTips], limits);
    found.push({ name, refs: count, bytes: Math.max(0, reachableBytes - without) });
  }
  if (view.hasReflogs) {
    const without = await bytesOf(view, ['--all', '--indexed-objects'], limits);
    found.push({ name: 'reflogs', refs: 0, bytes: Math.max(0, reachableBytes - without) });
  }
  return found.filter(({ bytes }) => bytes > 0);
}
