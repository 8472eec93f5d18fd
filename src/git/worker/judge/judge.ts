/**
 * Judges a refused push by the bytes that the refs of the repository reach before and after it. A push that
 * makes the repository smaller is the way out for an owner over the limit, so it is accepted. This cannot be
 * abused: all refs are compared together, and a change that git will refuse does not count.
 */

import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { decodePath, encodePath, isQuarantineName, quarantinePath } from '../../../layout/index.ts';
import { formatBytes, printable, shortened } from '../../../text.ts';
import {
  gitlabMaintenance,
  isKeptByGitlab,
  type JudgedPush,
  type PushJudgement,
} from '../../../wire/index.ts';
import { entryNames, identity, isThere } from '../files.ts';
import { pushProcesses, seesAllProcesses } from '../quarantines/processes.ts';
import { bashQuoted } from '../space/explain.ts';
import { type GitProgram, isShared, UnusableRepository } from '../space/git.ts';
import { bytesOf } from '../space/measure.ts';
import { inLines, type RepositoryView, type RunLimits, withView } from '../space/view.ts';
import {
  changesIn,
  doneOf,
  isHidden,
  isNone,
  newObjects,
  type ReceiveSettings,
  type RefChange,
  type Refs,
  receiveSettingsOf,
  refsOf,
  tipsAfter,
} from './changes.ts';

/** A push, as the daemon names it; `objects`: the directory of the repository's objects. */
type NamedPush = Omit<JudgedPush, 'exec_path' | 'manner'> & { readonly objects: string };

const cannotTell =
  'git cannot tell here whether this push makes the repository smaller. Delete branches and tags first, in ' +
  'separate pushes: these are never refused.';
const mostNamed = 3;
const longestQuoted = 200;
const mostReplacing = 100;

/** `manner`: with `less` the push must not bring more bytes than it frees, which stay for a while. */
export async function judgePush(
  push: NamedPush & Pick<JudgedPush, 'manner'>,
  program: GitProgram,
  limits: RunLimits,
): Promise<PushJudgement> {
  const changes = changesIn(push.lines);
  if (changes === null) return refused(cannotTell);
  try {
    return await inQuarantine(push, program, limits, (view, quarantine) =>
      judgeIn(view, { ...push, quarantine }, changes),
    );
  } catch (error) {
    if (error instanceof UnusableRepository) return refused(cannotTell);
    throw error;
  }
}

/** Tells whether a push writes refs to objects that nothing reached. Rejects where git cannot tell. */
export async function bringsBack(push: NamedPush, program: GitProgram, limits: RunLimits): Promise<boolean> {
  const tips = newObjects(changesIn(push.lines) ?? []);
  if (tips.length === 0) return false;
  return inQuarantine(push, program, limits, view => reachesMore(view, tips, ['--not', '--all']));
}

/** Runs `work` on a view of the repository and the push's objects; aborts once these are gone. */
export async function inQuarantine<Result>(
  { path, quarantine: name, objects }: NamedPush,
  program: GitProgram,
  limits: RunLimits,
  work: (view: RepositoryView, quarantine: string | null) => Promise<Result>,
): Promise<Result> {
  const quarantine = name === null ? null : await quarantineAt(path, name, objects);
  const there = quarantine === null ? null : whileThere(quarantine);
  const signal = AbortSignal.any([limits.signal, ...(there === null ? [] : [there.signal])]);
  const options = { program, hasReflogs: false, quarantine, objects };
  try {
    return await withView(path, options, { ...limits, isUrgent: true, signal }, view =>
      work(view, quarantine),
    );
  } finally {
    there?.end();
  }
}

async function judgeIn(
  view: RepositoryView,
  push: NamedPush & Pick<JudgedPush, 'manner'>,
  changes: readonly RefChange[],
): Promise<PushJudgement> {
  const [takesAway, refs, settings, kinds] = await Promise.all([
    canTakeAway(view, changes),
    refsOf(view),
    receiveSettingsOf(view, push.hidden),
    kindsOf(view, changes),
  ]);
  if (!takesAway) return refused('');
  const tips = tipsAfter(refs, changes, kinds, settings);
  if (tips === null) return refused(cannotTell);
  const [before, after, brought] = await Promise.all([
    // A copy of what is there, in another form, must not make it look larger.
    weigh(view.stored, [...refs.values.values()]),
    weigh(view, tips),
    push.quarantine === null ? { bytes: 0, sample: null } : broughtBy(push.objects, push.quarantine),
  ]);
  const sizes = sizesText(before, after);
  if (after >= before)
    return refused(
      `this push would not make the repository smaller: ${sizes}.${await othersText(view, refs, changes, settings)}`,
    );
  // git may complete a pack with objects that are there already; no push needs more than that.
  if (brought.bytes > 2 * before)
    return refused(
      `this push brings ${formatBytes(brought.bytes)}, although ${sizes}. Delete branches and tags first.`,
    );
  const freed = before - after;
  if (push.manner === 'less' && brought.bytes > freed)
    return refused(
      `this push would make the repository smaller only after a garbage collection (${sizes}), and it brings ` +
        `${formatBytes(brought.bytes)}, more than it frees: delete branches and tags first.`,
    );
  const words = `this push makes the repository smaller, by ${formatBytes(freed)}, so it is accepted although the quota is exceeded.`;
  return { smaller: true, words, sample: brought.sample };
}

function refused(words: string): PushJudgement {
  return { smaller: false, words, sample: null };
}

function sizesText(before: number, after: number): string {
  const shown = [before, after].map(formatBytes);
  const [now, then] = shown[0] === shown[1] && before !== after ? [`${before} B`, `${after} B`] : shown;
  return `its branches and tags take ${now} now, and would take ${then} afterwards`;
}

/** Tells whether the push deletes a ref, or may make something unreachable; also true if git cannot tell. */
async function canTakeAway(view: RepositoryView, changes: readonly RefChange[]): Promise<boolean> {
  if (changes.some(change => isNone(change.new) && !isNone(change.old))) return true;
  const news = newObjects(changes).map(object => `^${object}`);
  const olds = changes.filter(change => !isNone(change.old)).map(change => change.old);
  if (olds.length === 0) return false;
  return reachesMore(view, [...news, ...olds], []).catch((error: unknown) => {
    if (error instanceof UnusableRepository) return true;
    throw error;
  });
}

/** Tells whether these objects reach anything that neither `^OBJECT` among them nor the options exclude. */
async function reachesMore(
  view: RepositoryView,
  objects: readonly string[],
  options: readonly string[],
): Promise<boolean> {
  const args = ['rev-list', '--objects', '--no-object-names', '--stdin', ...options];
  return (await view.firstLine(args, () => true, inLines(objects))) ?? false;
}

async function kindsOf(
  view: RepositoryView,
  changes: readonly RefChange[],
): Promise<ReadonlyMap<string, string>> {
  const objects = new Set(newObjects(changes));
  const kinds = new Map<string, string>();
  if (objects.size === 0) return kinds;
  await view.lines(
    [{ args: ['cat-file', '--batch-check=%(objectname) %(objecttype)'] }],
    line => {
      const [object = '', kind = ''] = line.split(' ');
      kinds.set(object, kind);
    },
    inLines(objects),
  );
  return kinds;
}

async function weigh(view: RepositoryView, tips: readonly string[]): Promise<number> {
  const input = inLines(new Set(tips));
  return input === '' ? 0 : bytesOf(view, ['--stdin'], input);
}

/** Names refs that the push does not change and that may keep old history, and a detached HEAD. */
async function othersText(
  view: RepositoryView,
  refs: Refs,
  changes: readonly RefChange[],
  settings: ReceiveSettings,
): Promise<string> {
  const news = newObjects(changes);
  const pushed = new Set(changes.map(({ name }) => name));
  const replacing = news.slice(0, mostReplacing).map(object => `--no-merged=${object}`);
  const held: string[] = [];
  const hidden: string[] = [];
  await view
    .lines([{ args: ['for-each-ref', '--format=%(refname)', ...replacing] }], name => {
      if (isHidden(name, settings)) hidden.push(name);
      else if (!pushed.has(name)) held.push(name);
    })
    .catch((error: unknown) => {
      // git fails for an object that is no commit: then no ref is named.
      if (!(error instanceof UnusableRepository)) throw error;
    });
  const decoded = (name: string) => decodePath(Buffer.from(name, 'latin1'));
  const first = held.slice(0, mostNamed).map(name => printable(shortened(decoded(name))));
  // A longer command could be cut at the end of the line, and would delete another ref.
  const elsewhere = held.find(
    name => !/^refs\/(?:heads|tags)\//.test(name) && bashQuoted(decoded(name)).length <= longestQuoted,
  );
  const example =
    elsewhere === undefined
      ? "for example: git push --force origin 'refs/heads/*' 'refs/tags/*'"
      : `or first delete it: git push origin --delete ${bashQuoted(decoded(elsewhere))}`;
  const more = held.length > mostNamed ? ` and ${held.length - mostNamed} more` : '';
  const others =
    first.length === 0
      ? ''
      : ` It leaves ${first.join(', ')}${more}, which may hold the history that it replaces: replace or delete these ` +
        `refs in the same push, ${example}`;
  const keeper = hidden.some(isKeptByGitlab) ? `: ${gitlabMaintenance}` : ', such as those of pull requests.';
  const kept =
    hidden.length === 0
      ? ''
      : ` Refs to which nobody can push may hold the history that it replaces${keeper}`;
  const left = `${kept}${others}`;
  const detached = refs.values.get('HEAD');
  if (detached === undefined) return left;
  const replaced = [detached, ...news.map(object => `^${object}`)];
  if (!(await reachesMore(view, replaced, []))) return left;
  return `${left} Its HEAD is detached at ${detached.slice(0, 12)}, and holds that history: an administrator has to set it to a branch.`;
}

const lookEveryMs = 250;

/** Returns the path of a quarantine; rejects with an `UnusableRepository` if it is not of this repository. */
async function quarantineAt(path: string, name: string, objectsPath: string): Promise<string> {
  const quarantine = quarantinePath(path, name, objectsPath);
  if (quarantine === null) throw new UnusableRepository('its quarantine is none of git');
  const [objects, own] = await Promise.all(
    [objectsPath, quarantine].map(each => lstat(encodePath(each)).catch(() => null)),
  );
  if (objects?.isDirectory() !== true || own?.isDirectory() !== true)
    throw new UnusableRepository('its quarantine is gone');
  const isOurs = own.uid === objects.uid || own.uid === process.geteuid?.() || isShared(path);
  if (own.dev !== objects.dev || !isOurs)
    throw new UnusableRepository('its quarantine lies elsewhere, or is of another user');
  return quarantine;
}

/**
 * Sums up the bytes of a quarantine, without the indexes that git writes itself. `sample`: a file that the
 * repository does not have yet, or null.
 */
async function broughtBy(objects: string, quarantine: string) {
  let bytes = 0;
  let sample: string | null = null;
  for (const folder of await entryNames(quarantine)) {
    if (folder !== 'pack' && !/^[0-9a-f]{2}$/.test(folder)) continue;
    for (const each of await entryNames(`${quarantine}/${folder}`)) {
      if (/\.(?:idx|rev|keep)$/.test(each)) continue;
      const file = `${folder}/${each}`;
      bytes += (await lstat(encodePath(`${quarantine}/${file}`))).size;
      if (sample === null && !(await isThere(`${objects}/${file}`))) sample = file;
    }
  }
  return { bytes, sample };
}

/** Aborts once the quarantine is gone: nobody waits for the judgement any more. `end` stops the checks. */
function whileThere(quarantine: string): { readonly signal: AbortSignal; readonly end: () => void } {
  const gone = new AbortController();
  const timer = setInterval(() => {
    isThere(quarantine).then(is => {
      if (!is) gone.abort();
    });
  }, lookEveryMs);
  return { signal: gone.signal, end: () => clearInterval(timer) };
}

const firstStepMs = 10;
const lastStepMs = 1000;
/** Time after which a push whose process is not visible is taken for ended. */
const mostMs = 60_000;

/**
 * Waits for the end of a push that was judged and accepted. Resolves with true if git made all of its
 * changes, or made none and stored nothing. A hook may refuse one ref, or a client may disconnect between
 * two: then the old objects stay, the new ones are stored as well, and the result is false. `sample`: see
 * `PushJudgement`.
 */
export async function isKept(
  push: NamedPush & { readonly sample: string | null },
  program: GitProgram,
  limits: RunLimits & { readonly isAlone: boolean },
): Promise<boolean> {
  const { path, quarantine, sample, objects } = push;
  const options = { program, hasReflogs: false, objects };
  const changes = changesIn(push.lines) ?? [];
  const place = quarantine === null ? null : quarantinePath(path, quarantine, objects);
  const arriving = steps(limits.signal);
  if (place !== null) while (await isThere(place)) await arriving.next();
  // Other quarantines are Gitaly's, whose git does not run in the repository.
  const isOfGit = quarantine !== null && isQuarantineName(quarantine);
  const isSeen = isOfGit && (await seesAllProcesses(limits.isAlone));
  // git moves the objects first, and then writes one ref after the other.
  const writing = steps(limits.signal);
  for (const begun = performance.now(); ; await writing.next()) {
    const hasEnded = isSeen ? !(await isTaken(path)) : performance.now() - begun > mostMs;
    const refs = await withView(path, options, { ...limits, isUrgent: true }, refsOf);
    const done = doneOf(refs.values, changes);
    if (done === 'all') return true;
    if (hasEnded) return done === 'none' && (sample === null || !(await isThere(`${objects}/${sample}`)));
  }
}

/** Tells whether git takes a push there now, as far as its processes are visible. */
async function isTaken(path: string): Promise<boolean> {
  const directory = await identity(path);
  const processes = await pushProcesses();
  return processes.some(each => each.takesPush && (each.directory ?? directory) === directory);
}

/** Yields after pauses that become longer; rejects when the signal fires. */
async function* steps(signal: AbortSignal): AsyncGenerator<void, never> {
  for (let stepMs = firstStepMs; ; stepMs = Math.min(stepMs * 1.1, lastStepMs))
    yield await delay(stepMs, undefined, { signal });
}
