/** The reports of what takes the space of a repository, some at a time. */

import { messageOf, SoftquotaError } from '../../errors.ts';
import type { StorageSettings } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import type { SpaceReport } from '../../wire/index.ts';
import { explainSpace } from './space/explain.ts';
import type { GitProgram } from './space/git-programs.ts';
import { type LfsObjects, lfsObjects } from './space/lfs.ts';
import { lfsStores } from './space/lfs-stores.ts';
import { withView } from './space/view.ts';

interface SpaceExplainerOptions {
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
  /** Those that somebody waits for, and those that are made before anybody asks. */
  readonly #underWay = { urgent: 0, others: 0 };

  constructor(options: SpaceExplainerOptions) {
    this.#options = options;
  }

  /** The report about a repository's space. */
  async explain(path: string, isUrgent: boolean, signal: AbortSignal): Promise<SpaceReport> {
    const kind = isUrgent ? 'urgent' : 'others';
    if (this.#underWay[kind] >= mostExplained)
      throw new SoftquotaError('not_ready', 'other repositories are being looked through; ask again later');
    this.#underWay[kind] += 1;
    try {
      return await withView(
        path,
        { program: this.#options.program },
        { timeoutMs: isUrgent ? explainMs : unaskedMs, signal, isUrgent },
        (view, limits) => explainSpace(view, limits, () => this.#lfsObjects(path, limits.signal)),
      );
    } finally {
      this.#underWay[kind] -= 1;
    }
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
