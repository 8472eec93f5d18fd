/**
 * Checks the storage roots when a single known unit is not there any more.
 *
 * A sweep sees all units; here a sample of them is looked for. So one repository that was deleted is told
 * from a disk that was taken away or replaced, by the very decision that a sweep makes.
 */

import { walkedRoots } from '../layout/index.ts';
import { within } from '../within.ts';
import type { Hangs } from './hangs.ts';
import type { IoWorkers } from './io-workers.ts';
import type { SweptRoot } from './measurement.ts';
import type { ScanContext } from './messages.ts';
import { type KnownRoots, knownByRoot, sweptRoots } from './roots.ts';
import { monotonic } from './shared.ts';
import type { WorkerClient } from './worker-client.ts';

interface RootCheckOptions {
  readonly knownUnits: KnownRoots;
  readonly context: () => ScanContext;
  readonly ioWorkers: Pick<IoWorkers, 'take'>;
  readonly hangs: Hangs;
}

/** Many units that go one after the other are one question. */
const freshMs = 1000;

const deadlineMs = 5000;
const mostLookedFor = 100;

export class RootCheck {
  readonly #options: RootCheckOptions;
  /**
   * The thread that asks. One that hangs stands here until the disk answers, and nobody else asks meanwhile.
   */
  #client: WorkerClient | null = null;
  #last: { at: number; readonly roots: Promise<readonly SweptRoot[] | null> } | null = null;

  constructor(options: RootCheckOptions) {
    this.#options = options;
  }

  /** The roots as after a sweep; null where the disk does not answer in time. Never rejects. */
  roots(): Promise<readonly SweptRoot[] | null> {
    if (this.#last !== null && monotonic() - this.#last.at <= freshMs) return this.#last.roots;
    // The system may start no thread.
    const last = { at: Number.POSITIVE_INFINITY, roots: this.#inTime().catch(() => null) };
    void last.roots.then(() => {
      last.at = monotonic();
    });
    this.#last = last;
    return last.roots;
  }

  async #inTime(): Promise<readonly SweptRoot[] | null> {
    if (this.#client !== null) return null;
    const client = this.#options.ioWorkers.take();
    this.#client = client;
    void client.ended.then(() => {
      this.#client = null;
    });
    const asked = this.#ask(client).catch(() => null);
    const roots = await within(asked, deadlineMs, null);
    if (roots === null) this.#options.hangs.leave(client);
    else await client.close(deadlineMs);
    return roots;
  }

  async #ask(client: WorkerClient): Promise<readonly SweptRoot[]> {
    const { context, knownUnits, hangs } = this.#options;
    const avoided = hangs.avoidedInHaste();
    const { storages, exclude } = context();
    const roots = walkedRoots(await client.ask({ ask: 'resolve', storages, exclude }, { avoided }));
    const known = await knownByRoot(roots, knownUnits.knownBelow);
    const samples = new Map([...known].map(([path, units]) => [path, spread(units, mostLookedFor)]));
    const paths = [...new Set([...samples.values()].flat())];
    const absent = new Set(await client.ask({ ask: 'absent', paths }, { avoided }));
    const seen = new Set(paths.filter(path => !absent.has(path)));
    const sampled = { ...knownUnits, knownBelow: (path: string) => samples.get(path) ?? [] };
    return sweptRoots(roots, roots, { seen, absent }, sampled, false);
  }
}

/** Some of many, in equal distances. */
function spread(all: readonly string[], most: number): readonly string[] {
  if (all.length <= most) return all;
  return all.filter(
    (_, index) => Math.floor((index * most) / all.length) !== Math.floor(((index - 1) * most) / all.length),
  );
}
