/** Makes the report about one repository: what takes the space, and how much each removal would free. */

import { decodePath, isPool } from '../../../layout/index.ts';
import { printable, shellQuoted } from '../../../text.ts';
import { hiddenRefs, type SpaceReport } from '../../../wire/index.ts';
import { inLatin1 } from '../files.ts';
import { isHidden, receiveSettingsOf } from '../judge/changes.ts';
import { type LargePath, largestPaths } from './largest-paths.ts';
import { lfsObjects, unneededLfs } from './lfs.ts';
import { allTips, bytesOf, objectsOf, storedObjects } from './measure.ts';
import type { RepositoryView } from './view.ts';

/** Time for the files if somebody waits for the answer. */
const filesMs = 7000;
/** Time for all, and the least that refs get, and their namespaces. */
const allMs = 9000;
const leastMs = 1000;

interface LfsPlaces {
  readonly stores: readonly string[];
  readonly ofForge: readonly { readonly oid: string; readonly bytes: number }[] | null;
}

/**
 * Explains a repository. Memory is bounded whatever the repository holds, time by the view's limits.
 * `stores`: the LFS stores of this repository alone; `ofForge`: the objects of a forge's store that only this
 * repository has, or null if they are not known.
 */
export async function explainSpace(
  view: RepositoryView,
  { stores, ofForge }: LfsPlaces = { stores: [`${view.path}/lfs`], ofForge: null },
): Promise<SpaceReport> {
  // A push meanwhile makes the unreachable bytes fewer, as in the measurement.
  const stored = await storedObjects(view.objects, view.limits.signal);
  const own = await lfsObjects(stores, view.limits.signal);
  const others = ofForge?.map(({ oid, bytes }) => [oid, bytes] as const) ?? [];
  const isUnknown = own === null || (own.size === 0 && ofForge === null);
  const lfs = isUnknown ? null : new Map([...own, ...others]);
  const begun = performance.now();
  const history = await largestPaths(view, {
    wantsPointers: lfs !== null,
    mostMs: view.limits.isUrgent === true ? filesMs : view.limits.timeoutMs / 2,
  });
  const reached = { bytes: history.bytes, objects: history.objects, tookMs: performance.now() - begun };
  const deadline = () => Math.max(begun + allMs, performance.now() + leastMs);
  // Bytes of each object in the index of a pack.
  const overhead = (view.settings.objectFormat === 'sha1' ? 28 : 40) + (stored.hasReverseIndex ? 4 : 0);
  const { refs, isCut: isListCut } = await listRefs(view);
  const settings = await receiveSettingsOf(view, Object.values(hiddenRefs).flat());
  const isPushed = ({ name }: Ref) => !isHidden(inLatin1(name), settings);
  const holding = await holdingRefs(view, refs, reached, { deadline: deadline(), overhead, isPushed });
  const spaces = await holdingNamespaces(view, refs, reached.bytes, deadline());
  const shown = <Advice extends { readonly commands: string[] }>(advice: Advice): Advice =>
    isPool(view.path) ? { ...advice, commands: [] } : advice;
  return {
    object_bytes: stored.bytes,
    reachable_bytes: history.bytes,
    unreachable_bytes: Math.max(0, stored.bytes - history.bytes),
    objects: history.objects,
    packs: stored.packs,
    loose_objects: stored.loose,
    kept_bytes: stored.keptBytes,
    leftover_bytes: stored.leftoverBytes,
    paths: history.paths.map(path => pathAdvice(path, overhead)).map(shown),
    refs: holding.refs.map(shown),
    namespaces: spaces.namespaces,
    // Without all pointers, any object may be needed.
    lfs:
      lfs === null || history.possiblePointers === null
        ? null
        : await unneededLfs(view, lfs, history.possiblePointers),
    cut: history.isCut || isListCut || holding.isCut || spaces.isCut,
  };
}

const longestName = 4096;

/** Adds the commands to remove a file, and the bytes that this frees. `each`: bytes in a pack's index. */
function pathAdvice(found: LargePath, each: number): SpaceReport['paths'][number] {
  const { path, other_names: otherNames, bytes, versions } = found;
  const names = [path, ...otherNames];
  return {
    ...found,
    path: path.slice(0, longestName),
    other_names: otherNames.map(name => name.slice(0, longestName)),
    frees: bytes + versions * each,
    // A shell takes no line that is much longer.
    commands: names.some(name => name.length > longestName) ? [] : pathCommands(names),
  };
}

/** Quotes a text as one word for bash, in printable characters whatever the text holds. */
export function bashQuoted(text: string): string {
  if (printable(text) === text && text.isWellFormed()) return shellQuoted(text);
  const bytes = [...Buffer.from(inLatin1(text), 'latin1')];
  const escaped = bytes.map(byte =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${escaped.join('')}'`;
}

function pathCommands(paths: readonly string[]): string[] {
  // git filter-repo takes a path that begins with a dash for an option.
  const options = paths.map(path => `--path${path.startsWith('-') ? '=' : ' '}${bashQuoted(path)}`);
  return [
    `git filter-repo --invert-paths ${options.join(' ')}`,
    "git push --force origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'",
  ];
}

interface Ref {
  readonly name: string;
  readonly tip: string;
  /** The commit that it leads to, through tags. */
  readonly commit: string;
  readonly isDefault: boolean;
}

const quickMs = 600;
const mostRefs = 20;
const mostMeasured = 40;
const mostNamespaces = 10;
const mostListed = 200_000;

interface Reached {
  readonly bytes: number;
  readonly objects: number;
  readonly tookMs: number;
}

interface HoldingOptions {
  readonly deadline: number;
  readonly overhead: number;
  /** Tells whether somebody can push to a ref. */
  readonly isPushed: (ref: Ref) => boolean;
}

/** Finds the refs that alone hold most bytes; `isCut`: not all refs could be measured. */
async function holdingRefs(
  view: RepositoryView,
  refs: readonly Ref[],
  reached: Reached,
  { deadline, overhead, isPushed }: HoldingOptions,
): Promise<{ readonly refs: SpaceReport['refs']; readonly isCut: boolean }> {
  const candidates = [...(await ownCommits(view, refs))]
    .filter(([ref]) => isPushed(ref))
    .sort(([, a], [, b]) => b - a);
  let isCut = candidates.length > mostMeasured;
  const holding: SpaceReport['refs'] = [];
  for (const [ref, commits] of candidates.slice(0, mostMeasured)) {
    if (performance.now() > deadline) {
      isCut = true;
      break;
    }
    const { bytes, objects } = await heldBy(view, ref, reached);
    if (bytes === 0) continue;
    holding.push({
      name: ref.name.slice(0, longestName),
      bytes,
      commits,
      default_branch: ref.isDefault,
      frees: bytes + objects * overhead,
      // Nobody can delete the default branch by a push, and nobody wants to.
      commands: ref.isDefault ? [] : [`git push origin --delete ${bashQuoted(ref.name)}`],
    });
  }
  return { refs: holding.sort((a, b) => b.bytes - a.bytes).slice(0, mostRefs), isCut };
}

/**
 * Counts the objects that only this ref reaches. With `--not` git compares only the trees at the border of
 * the history, and so takes a file that came back from an older version for new. In a small repository two
 * full counts give the exact difference.
 */
async function heldBy(
  view: RepositoryView,
  { name, tip }: Ref,
  reached: Reached,
): Promise<{ readonly bytes: number; readonly objects: number }> {
  if (reached.tookMs >= quickMs)
    return objectsOf(view, [tip, '--not', `--exclude=${name}`, '--all', '--reflog']);
  const left = await objectsOf(view, [`--exclude=${name}`, ...allTips]);
  return {
    bytes: Math.max(0, reached.bytes - left.bytes),
    objects: Math.max(0, reached.objects - left.objects),
  };
}

async function listRefs(
  view: RepositoryView,
): Promise<{ readonly refs: readonly Ref[]; readonly isCut: boolean }> {
  const refs: Ref[] = [];
  let isCut = false;
  const format = '--format=%(HEAD) %(objectname) %(*objectname) %(refname)';
  await view.lines([{ args: ['for-each-ref', format] }], line => {
    const [, mark, tip = '', peeled = '', bytes = ''] = /^(.) ([0-9a-f]+) ([0-9a-f]*) (.*)$/.exec(line) ?? [];
    const name = decodePath(Buffer.from(bytes, 'latin1'));
    if (refs.length >= mostListed) isCut = true;
    else refs.push({ name, tip, commit: peeled || tip, isDefault: mark === '*' });
  });
  return { refs, isCut };
}

/** Counts the commits that each ref alone reaches; refs that share all with others are left out. */
async function ownCommits(view: RepositoryView, refs: readonly Ref[]): Promise<ReadonlyMap<Ref, number>> {
  // Commits that are not listed yet but have a listed child, with the ref that reaches them.
  const reachedBy = new Map<string, Ref | 'several'>();
  const reach = (commit: string, by: Ref | 'several'): void => {
    const before = reachedBy.get(commit);
    reachedBy.set(commit, before === undefined || before === by ? by : 'several');
  };
  for (const ref of refs) reach(ref.commit, ref);
  const counts = new Map<Ref, number>();
  const args = ['rev-list', '--topo-order', '--parents', '--all', '--reflog'];
  await view.lines([{ args }], line => {
    const [commit = '', ...parents] = line.split(' ');
    // Objects that only a reflog reaches belong to no ref.
    const by = reachedBy.get(commit) ?? 'several';
    reachedBy.delete(commit);
    if (by !== 'several') counts.set(by, (counts.get(by) ?? 0) + 1);
    for (const parent of parents) reach(parent, by);
  });
  return counts;
}

/**
 * Measures namespaces of refs that users usually cannot delete by a push, and the reflogs: the bytes that
 * only the refs of one namespace reach. `isCut`: not all could be measured.
 */
async function holdingNamespaces(
  view: RepositoryView,
  refs: readonly Ref[],
  reachableBytes: number,
  deadline: number,
): Promise<{ readonly namespaces: SpaceReport['namespaces']; readonly isCut: boolean }> {
  const counts = new Map<string, number>();
  for (const { name } of refs) {
    const [, space = ''] = /^(refs\/[^/]+\/)/.exec(name) ?? [];
    if (space === '' || space === 'refs/heads/' || space === 'refs/tags/') continue;
    counts.set(space, (counts.get(space) ?? 0) + 1);
  }
  const spaces = [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, mostNamespaces)
    .map(([name, count]) => ({ name, refs: count, others: [`--exclude=${name}*`, ...allTips] }));
  if (view.hasReflogs) spaces.push({ name: 'reflogs', refs: 0, others: ['--all', '--indexed-objects'] });
  const namespaces: SpaceReport['namespaces'] = [];
  for (const { name, refs: count, others } of spaces) {
    if (performance.now() > deadline) return { namespaces, isCut: true };
    const bytes = reachableBytes - (await bytesOf(view, others));
    if (bytes > 0) namespaces.push({ name, refs: count, bytes });
  }
  return { namespaces, isCut: false };
}
