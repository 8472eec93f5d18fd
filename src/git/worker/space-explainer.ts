/** The reports of what takes the space of a repository, some at a time. */

import { messageOf, SoftquotaError } from '../../errors.ts';
import type { StorageSettings } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import { spaceJson } from './space/advice.ts';
import { explainSpace } from './space/explain.ts';
import type { GitProgram } from './space/git-programs.ts';
import { type LfsObjects, lfsObjects } from './space/lfs.ts';
import { lfsStores } from './space/lfs-stores.ts';
import { withView } from './space/view.ts';

export interface SpaceExplainerOptions {
  readonly program: GitProgram;
  /** All of them: those of LFS objects lie beside those of repositories. */
  readonly storages: readonly StorageSettings[];
  /**
   * The LFS objects that a forge's database has for this repository alone; null: no forge is named. Rejects
   * where that is not known.
   */
  readonly forgeLfs: (path: string, signal: AbortSignal) => Promise<LfsObjects | null>;
  readonly log: Pick<Log, 'warn'>;
}

const explainMs = 60_000;
const unaskedMs = 300_000;
const mostExplained = 2;

export class SpaceExplainer {
  readonly #options: SpaceExplainerOptions;
  readonly #stop = new AbortController();
  /** Those that somebody waits for, and those that are made before anybody asks. */
  readonly #urgent = new Set<Promise<unknown>>();
  readonly #others = new Set<Promise<unknown>>();

  constructor(options: SpaceExplainerOptions) {
    this.#options = options;
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#urgent, ...this.#others]);
  }

  /** The report about a repository's space, in the form in which the API shows it. */
  async explain(path: string, isUrgent: boolean): Promise<object> {
    const underWay = isUrgent ? this.#urgent : this.#others;
    if (underWay.size >= mostExplained)
      throw new SoftquotaError('not_ready', 'other repositories are being looked through; ask again later');
    const explained = this.#explain(path, isUrgent);
    const ended = explained.catch(() => {});
    underWay.add(ended);
    return explained.finally(() => underWay.delete(ended));
  }

  async #explain(path: string, isUrgent: boolean): Promise<object> {
    const { program } = this.#options;
    const findings = await withView(
      path,
      { program },
      { timeoutMs: isUrgent ? explainMs : unaskedMs, signal: this.#stop.signal, isUrgent },
      (view, limits) => explainSpace(view, limits, () => this.#lfsObjects(path, limits.signal)),
    );
    return spaceJson(findings);
  }

  /** Those in stores that are the repository's alone, and in a forge's store those that only it has. */
  async #lfsObjects(path: string, signal: AbortSignal): Promise<LfsObjects | null> {
    const { storages, forgeLfs, log } = this.#options;
    const ofForge = forgeLfs(path, signal).catch(error => {
      log.warn({ path, why: messageOf(error) }, 'the LFS objects of a repository are not known');
      return null;
    });
    const own = await lfsObjects(lfsStores(path, storages), signal);
    const others = await ofForge;
    return own === null || others === null ? (own ?? others) : new Map([...own, ...others]);
  }
}
