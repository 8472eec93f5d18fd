/**
 * The reports of what takes the space of a repository, some at a time, and the notes that refused pushes show
 * of them.
 */

import { messageOf, SoftquotaError } from '../../errors.ts';
import type { StorageSettings } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import type { AskedTask } from './connection.ts';
import { refsSignature } from './refs-signature.ts';
import { spaceJson } from './space/advice.ts';
import { explainSpace } from './space/explain.ts';
import { type LfsObjects, lfsObjects } from './space/lfs.ts';
import { lfsStores } from './space/lfs-stores.ts';
import { noteLines, writeNote } from './space/note.ts';
import { withView } from './space/view.ts';

export interface SpaceExplainerOptions {
  readonly storages: readonly StorageSettings[];
  /** Those of LFS objects. */
  readonly lfs: readonly StorageSettings[];
  /**
   * The LFS objects that a forge's database has for this repository alone; null: no forge is named. Rejects
   * where that is not known.
   */
  readonly forgeLfs: (path: string, signal: AbortSignal) => Promise<LfsObjects | null>;
  readonly log: Pick<Log, 'warn'>;
  /** Ends what is under way. */
  readonly stop: AbortSignal;
}

const explainMs = 60_000;
const noteMs = 300_000;
const mostExplained = 2;

export class SpaceExplainer {
  readonly #options: SpaceExplainerOptions;
  /** Those that somebody waits for, and those that are made before anybody asks. */
  readonly #urgent = new Set<Promise<unknown>>();
  readonly #others = new Set<Promise<unknown>>();

  constructor(options: SpaceExplainerOptions) {
    this.#options = options;
  }

  /** Resolves once no report is under way. */
  async ended(): Promise<void> {
    await Promise.all([...this.#urgent, ...this.#others]);
  }

  /**
   * The report about a repository's space, in the form in which the API shows it; where `page` is not null,
   * refused pushes show its first lines from then on.
   */
  async explain(path: string, { isUrgent, page }: Pick<AskedTask, 'isUrgent' | 'page'>): Promise<object> {
    const underWay = isUrgent ? this.#urgent : this.#others;
    if (underWay.size >= mostExplained)
      throw new SoftquotaError('not_ready', 'other repositories are being looked through; ask again later');
    const explained = this.#explain(path, isUrgent, page);
    const ended = explained.catch(() => {});
    underWay.add(ended);
    return explained.finally(() => underWay.delete(ended));
  }

  async #explain(path: string, isUrgent: boolean, page: string | null): Promise<object> {
    const signature = await refsSignature(path);
    const findings = await withView(
      path,
      { timeoutMs: isUrgent ? explainMs : noteMs, signal: this.#options.stop },
      (view, limits) =>
        explainSpace(view, { ...limits, isUrgent }, () => this.#lfsObjects(path, limits.signal)),
    );
    // A note about other refs would be wrong.
    const later = await refsSignature(path);
    if (page !== null && signature !== null && signature.text === later?.text)
      await this.#note(path, signature.text, noteLines(findings, page));
    return spaceJson(findings);
  }

  /** Those in stores that are the repository's alone, and in a forge's store those that only it has. */
  async #lfsObjects(path: string, signal: AbortSignal): Promise<LfsObjects | null> {
    const { storages, lfs, forgeLfs, log } = this.#options;
    const ofForge = forgeLfs(path, signal).catch(error => {
      log.warn({ path, why: messageOf(error) }, 'the LFS objects of a repository are not known');
      return null;
    });
    const own = await lfsObjects(lfsStores(path, [...storages, ...lfs]), signal);
    const others = await ofForge;
    return own === null || others === null ? (own ?? others) : new Map([...own, ...others]);
  }

  async #note(path: string, signature: string, lines: readonly string[]): Promise<void> {
    await writeNote(path, signature, lines).catch(error => {
      this.#options.log.warn(
        { path, why: messageOf(error) },
        'refused pushes cannot show what takes the space',
      );
    });
  }
}
