/**
 * Keeps repositories guarded: puts hooks into new repositories, and puts back hooks that somebody removes.
 *
 * Rounds through all known repositories take a small part of a core; with many thousands of repositories a
 * round takes longer. Git and forges still write into a new repository when it appears, so it is checked
 * again and again for some seconds.
 */

import { isWithin } from '../../layout/index.ts';
import type { WorkerReport } from '../../wire/index.ts';
import { Folder, reasonOf } from '../hooks/folder.ts';
import { folderFile } from '../hooks/hook.ts';
import { ofGitlab, runFolder, statesIn } from '../hooks/inspect.ts';
import { installInto, type WantedSettings } from '../hooks/install.ts';
import { isGone } from './files.ts';
import { type JobOptions, Pace } from './repository-walk.ts';

interface KeepHooksOptions extends Omit<JobOptions, 'isAlone'> {
  readonly isForge: boolean;
  readonly wanted: WantedSettings;
}

interface Known {
  readonly isGuarded: boolean;
  readonly why: string | null;
}

const lookEveryMs = 200;
/** Time for which a new repository is checked often, if it is guarded, and if it is not. */
const settledMs = 5000;
const youngMs = 60_000;
/** Rest as a multiple of work: half a core at first, a fifth for new repositories, a twentieth on rounds. */
const restAtFirst = 1;
const restForNew = 4;
const restForRound = 19;
const roundEveryMs = 1000;
const mostNamed = 20;
const longestWhy = 1000;
/** Longest list in a report, in characters of JSON. */
const mostReported = 20_000;
const notGuarded = 'a repository is not guarded';
const guarded: Known = { isGuarded: true, why: null };
/** The directory is not a repository, or not yet. */
const noRepository: Known = { isGuarded: false, why: null };

export class KeepHooks {
  readonly #options: KeepHooksOptions;
  readonly #known = new Map<string, Known>();
  /** New repositories with the time at which they appeared, on the monotonic clock. */
  readonly #young = new Map<string, number>();
  /** Roots below which a repository of a forge was seen. */
  readonly #forgeRoots = new Set<string>();
  /** Unreadable places that may be repositories, with the code of the error. */
  #unread: ReadonlyMap<string, string> = new Map();
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: KeepHooksOptions) {
    this.#options = options;
    options.repositories.add({
      found: path => {
        this.#known.set(path, noRepository);
        this.#young.set(path, performance.now());
      },
      gone: path => {
        this.#known.delete(path);
        this.#young.delete(path);
      },
    });
  }

  /** Resolves once all present repositories have been checked. New ones do not wait for that. */
  async start(): Promise<void> {
    const { repositories } = this.#options;
    const { signal } = repositories;
    await repositories.start();
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
    return { repositories: this.#known.size, unguarded: { count: unguarded.length, first } };
  }

  async close(): Promise<void> {
    await this.#ended;
  }

  async #watch(pace: Pace): Promise<void> {
    while (!pace.isStopped) {
      this.#noticeUnread();
      for (const [path, since] of this.#young) {
        if (pace.isStopped) return;
        const isGuarded = await this.#lookAfter(path);
        // After this time only the round checks the repository.
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

  async #goRound(pace: Pace): Promise<void> {
    while (!pace.isStopped) {
      const begun = performance.now();
      await this.#goThrough([...this.#known.keys()], pace);
      await pace.pause(Math.max(roundEveryMs - (performance.now() - begun), lookEveryMs));
    }
  }

  async #goThrough(paths: readonly string[], pace: Pace): Promise<void> {
    for (const path of paths) {
      if (pace.isStopped) return;
      if (!this.#young.has(path)) await this.#lookAfter(path);
      await pace.step();
    }
  }

  /** Checks a repository; returns true if it is guarded now. A fault that is new or over is reported. */
  async #lookAfter(path: string): Promise<boolean> {
    const before = this.#known.get(path);
    if (before === undefined) return false;
    let found = noRepository;
    try {
      await using repository = await Folder.open(path);
      found = await this.#guard(repository, before.isGuarded);
    } catch (error) {
      if (!isGone(error)) found = { isGuarded: false, why: reasonOf(error) };
    }
    // It may have gone meanwhile.
    if (this.#known.get(path) !== before) return false;
    this.#known.set(path, found);
    if (before.why === found.why) return found.isGuarded;
    if (found.why !== null) this.#options.log.warn({ path, why: found.why }, notGuarded);
    this.#options.changed();
    return found.isGuarded;
  }

  /**
   * Installs missing hooks, and replaces those of another version; the settings of hooks in place stay. If
   * both are in place, this reads a few files and starts no program. Nothing is written through a link, nor
   * into a repository of another user.
   */
  async #guard(repository: Folder, wasGuarded: boolean): Promise<Known> {
    const { wanted, log } = this.#options;
    const { path, stats } = repository;
    if (['HEAD', 'objects', 'refs'].some(name => repository.entry(name).kind === 'absent'))
      return noRepository;
    const uid = process.geteuid?.() ?? -1;
    if (stats.uid !== uid)
      return { isGuarded: false, why: `it belongs to the user ${stats.uid}, and the worker runs as ${uid}` };
    const gitlab = ofGitlab(path, null);
    if (gitlab !== null) return { isGuarded: false, why: gitlab };
    const inPlace = await filesOfGuarded(repository);
    const isForge = this.#options.isForge || [...this.#forgeRoots].some(root => isWithin(path, root));
    const hooks = inPlace === null ? Object.values(await installInto(repository, wanted, isForge)) : [];
    const files = inPlace ?? hooks.map(({ file }) => file);
    if (files.some(file => file.endsWith(`/${folderFile}`)))
      for (const root of this.#options.repositories.rootsAround(path)) this.#forgeRoots.add(root);
    const blocked = hooks.find(hook => hook.blocked !== null);
    if (blocked !== undefined)
      return { isGuarded: false, why: `git cannot run ${blocked.file}: ${blocked.blocked}` };
    if (hooks.every(({ did }) => did === 'unchanged')) return guarded;
    if (wasGuarded) log.warn({ path }, 'the hooks were taken out or replaced; they are back');
    else log.info({ path }, 'the hooks are put in');
    for (const { skipped, previous, file } of hooks)
      if (skipped)
        log.warn(
          { path, file: previous ?? file },
          'a hook that was there is not executable, so it does not run',
        );
    return guarded;
  }
}

function unreadable(code: string): string {
  return `it cannot be looked into (${code}): the worker runs as the user ${process.geteuid?.() ?? -1}`;
}

/** Returns the files of both hooks if git runs this version's; else null. */
async function filesOfGuarded(repository: Folder): Promise<readonly string[] | null> {
  await using hooks = await runFolder(repository);
  const states = Object.values(await statesIn(hooks));
  if (states.some(({ state }) => state !== 'ours')) return null;
  return states.flatMap(({ file }) => file ?? []);
}
