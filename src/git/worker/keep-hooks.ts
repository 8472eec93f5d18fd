/**
 * Keeps repositories guarded: puts hooks into new ones, and puts back what somebody takes out.
 *
 * It goes round the hooks of all known repositories, which takes a small part of a core: with many thousands
 * of repositories a round takes longer. Git and forges still write into a new repository when it appears, so
 * it is looked after again and again for some seconds.
 */

import { isWithin } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import type { WorkerReport } from '../../wire/index.ts';
import { reasonOf } from '../hooks/each.ts';
import { Folder } from '../hooks/folder.ts';
import { gitlabEvidence, gitlabWords } from '../hooks/gitlab.ts';
import { folderFile } from '../hooks/hook.ts';
import { runFolder, statesIn } from '../hooks/inspect.ts';
import { installInto, type WantedSettings } from '../hooks/install.ts';
import { isGone } from './files.ts';
import { Pace, type RepositoryWalk } from './repository-walk.ts';

interface KeepHooksOptions {
  /** Those whose walk comes some times a second. */
  readonly repositories: RepositoryWalk;
  /** All of them are a forge's, also where nothing in them says so yet. */
  readonly isForge: boolean;
  /** The settings of hooks that are put in. */
  readonly wanted: WantedSettings;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called after something changed in the report. */
  readonly changed: () => void;
}

interface Known {
  readonly isGuarded: boolean;
  /** Why it is not guarded. */
  readonly why: string | null;
}

const lookEveryMs = 200;
/** After it appeared, a repository is looked after for so long where it is guarded, and where it is not. */
const settledMs = 5000;
const youngMs = 60_000;
/** Rest for each part of work: half a core's time at first, a fifth for new ones, a twentieth on rounds. */
const restAtFirst = 1;
const restForNew = 4;
const restForRound = 19;
const roundEveryMs = 1000;
const mostNamed = 20;
const longestWhy = 1000;
/** Characters as JSON; there is room for all else of a report. */
const mostReported = 20_000;
const notGuarded = 'a repository is not guarded';

export class KeepHooks {
  readonly #options: KeepHooksOptions;
  readonly #known = new Map<string, Known>();
  /** Those that appeared, with the time, on the monotonic clock. */
  readonly #young = new Map<string, number>();
  readonly #stop = new AbortController();
  /** Roots below which a repository of a forge was seen. */
  readonly #forgeRoots = new Set<string>();
  /** Places where a repository may be that the worker cannot look into, and why. */
  #unread: ReadonlyMap<string, string> = new Map();
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: KeepHooksOptions) {
    this.#options = options;
    options.repositories.add({
      found: path => {
        this.#known.set(path, { isGuarded: false, why: null });
        this.#young.set(path, performance.now());
      },
      gone: path => {
        this.#known.delete(path);
        this.#young.delete(path);
      },
    });
  }

  /**
   * Resolves once every repository that is there now has been looked after. New ones do not wait for that.
   */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    await this.#options.repositories.start();
    const first = [...this.#young.keys()];
    this.#young.clear();
    const watching = this.#watch(new Pace(restForNew, signal));
    await this.#goThrough(first, new Pace(restAtFirst, signal));
    this.#ended = Promise.all([watching, this.#goRound(new Pace(restForRound, signal))]);
  }

  report(): NonNullable<WorkerReport['hooks']> {
    const unguarded = [...this.#known].flatMap(([path, { isGuarded, why }]) =>
      isGuarded || why === null ? [] : [{ path, why }],
    );
    for (const [path, code] of this.#unread) unguarded.push({ path, why: unreadable(code) });
    const first: { path: string; why: string }[] = [];
    let length = 0;
    for (const { path, why } of unguarded.slice(0, mostNamed)) {
      const place = { path, why: why.slice(0, longestWhy) };
      length += JSON.stringify(place).length;
      if (length > mostReported) break;
      first.push(place);
    }
    return {
      repositories: this.#known.size,
      unguarded: { count: unguarded.length, first },
    };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #watch(pace: Pace): Promise<void> {
    while (!this.#isStopped) {
      this.#noticeUnread();
      for (const [path, since] of this.#young) {
        if (this.#isStopped) return;
        const isGuarded = await this.#lookAfter(path);
        // A guarded repository that nothing has touched for so long is left to the round.
        if (performance.now() - since > (isGuarded ? settledMs : youngMs)) this.#young.delete(path);
        await pace.step();
      }
      await pace.pause(lookEveryMs);
    }
  }

  #noticeUnread(): void {
    const before = this.#unread;
    this.#unread = this.#options.repositories.unread;
    const fresh = [...this.#unread].filter(([path]) => !before.has(path));
    for (const [path, code] of fresh) this.#options.log.warn({ path, why: unreadable(code) }, notGuarded);
    if (fresh.length > 0 || before.size !== this.#unread.size) this.#options.changed();
  }

  /** Goes round all that is known. */
  async #goRound(pace: Pace): Promise<void> {
    while (!this.#isStopped) {
      const begun = performance.now();
      await this.#goThrough([...this.#known.keys()], pace);
      await pace.pause(Math.max(roundEveryMs - (performance.now() - begun), lookEveryMs));
    }
  }

  async #goThrough(paths: readonly string[], pace: Pace): Promise<void> {
    for (const path of paths) {
      if (this.#isStopped) return;
      if (!this.#young.has(path)) await this.#lookAfter(path);
      await pace.step();
    }
  }

  /** True if the repository is guarded now. */
  async #lookAfter(path: string): Promise<boolean> {
    const known = this.#known.get(path);
    if (known === undefined) return false;
    const { wanted, log } = this.#options;
    const found = await guardRepository(path, this.#isInForge(path), wanted);
    if (found.isForge) this.#rememberForge(path);
    const { isGuarded, why } = found;
    if (found.put && known.isGuarded)
      log.warn({ path }, 'the hooks were taken out or replaced; they are back');
    else if (found.put) log.info({ path }, 'the hooks are put in');
    for (const file of found.skipped)
      log.warn({ path, file }, 'a hook that was there is not executable, so it does not run');
    this.#put(path, { isGuarded, why });
    return isGuarded;
  }

  /** Keeps what was found, unless the repository has gone, and tells of a fault that came or went. */
  #put(path: string, found: Known): void {
    const before = this.#known.get(path);
    if (before === undefined) return;
    this.#known.set(path, found);
    if (before.why === found.why) return;
    if (found.why !== null) this.#options.log.warn({ path, why: found.why }, notGuarded);
    this.#options.changed();
  }

  #isInForge(path: string): boolean {
    return this.#options.isForge || [...this.#forgeRoots].some(root => isWithin(path, root));
  }

  #rememberForge(path: string): void {
    for (const root of this.#options.repositories.rootsAround(path)) this.#forgeRoots.add(root);
  }
}

function unreadable(code: string): string {
  return `it cannot be looked into (${code}): the worker runs as the user ${process.geteuid?.() ?? -1}`;
}

/** The outcome of looking after a repository. */
interface Guarded {
  readonly isGuarded: boolean;
  /** Why it is not guarded; null: it is, or it is no repository yet. */
  readonly why: string | null;
  /** Tells whether hooks had to be put in. */
  readonly put: boolean;
  /** Tells whether it is of Gitea or Forgejo. */
  readonly isForge: boolean;
  /** Files of hooks, just moved, that do not run because they are not executable. */
  readonly skipped: readonly string[];
}

const unguarded: Guarded = { isGuarded: false, why: null, put: false, isForge: false, skipped: [] };

/**
 * Guards a repository, as often as somebody likes to look: what is in place costs some looks at the disk and
 * starts no program. Puts in what is missing, and replaces what is of another version; the settings of hooks in place stay.
 * `isForge`: other repositories beside it are a forge's. A fault is a value. Nothing is written through a
 * link, nor into a repository of another user.
 */
export async function guardRepository(
  path: string,
  isForge: boolean,
  options: WantedSettings,
): Promise<Guarded> {
  try {
    await using repository = await Folder.open(path);
    return await guardIn(repository, path, isForge, options);
  } catch (error) {
    return isGone(error) ? unguarded : { ...unguarded, why: reasonOf(error) };
  }
}

async function guardIn(
  repository: Folder,
  path: string,
  isForge: boolean,
  options: WantedSettings,
): Promise<Guarded> {
  if (['HEAD', 'objects', 'refs'].some(name => repository.entry(name).kind === 'absent')) return unguarded;
  const uid = process.geteuid?.() ?? -1;
  if (repository.stats.uid !== uid) {
    const why = `it belongs to the user ${repository.stats.uid}, and the worker runs as ${uid}`;
    return { ...unguarded, why };
  }
  const gitlab = gitlabEvidence(path, null);
  if (gitlab !== null) return { ...unguarded, why: gitlabWords(gitlab) };
  const before = await filesOfGuarded(repository);
  if (before !== null) return { ...unguarded, isGuarded: true, isForge: isAnyInFolder(before) };
  const hooks = Object.values(await installInto(repository, options, isForge));
  // Hooks on a file system without exec are in place, although git cannot run them.
  const put = hooks.some(({ did }) => did !== 'unchanged');
  const skipped = put ? hooks.filter(hook => hook.skipped) : [];
  return {
    isGuarded: true,
    why: null,
    put,
    isForge: isAnyInFolder(hooks.map(({ file }) => file)),
    skipped: skipped.map(({ file, previous }) => previous ?? file),
  };
}

/** The files of both hooks where git runs this version's; null where it does not. */
async function filesOfGuarded(repository: Folder): Promise<readonly string[] | null> {
  await using hooks = await runFolder(repository);
  if (hooks === null) return null;
  const states = Object.values(await statesIn(hooks));
  if (states.some(({ state }) => state !== 'ours')) return null;
  return states.flatMap(({ file }) => file ?? []);
}

function isAnyInFolder(files: readonly string[]): boolean {
  return files.some(file => file.endsWith(`/${folderFile}`));
}
