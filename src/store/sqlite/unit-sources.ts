/** The sets that sources put, seen from outside the store's thread. */

import type {
  KeptSet,
  NewUnitSet,
  UnitQuery,
  UnitSetRecord,
  UnitSetWriter,
  UnitSourceStore,
  UnitSum,
} from '../unit-sources.ts';
import type { Chunk } from './messages.ts';
import type { SetQuestion } from './unit-sets.ts';

/** Gives all chunks of the answer. */
type Ask = <Asked extends SetQuestion>(question: Asked) => Promise<readonly Chunk<Asked>[]>;

export class SqliteUnitSources implements UnitSourceStore {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async load(): Promise<readonly KeptSet[]> {
    const sets: KeptSet[] = [];
    for (const { number, ...set } of (await this.#ask({ is: 'list sets' })).flat()) {
      sets.push({ set, sums: await this.#sumsOf(number) });
    }
    return sets;
  }

  async begin(newSet: NewUnitSet): Promise<UnitSetWriter> {
    const [set = 0] = await this.#ask({ is: 'begin set', set: newSet });
    return {
      take: async chunk => {
        await this.#ask({ is: 'take units', set, chunk });
      },
      finish: async () => {
        await this.#ask({ is: 'end set', set });
        return this.#sumsOf(set);
      },
      keep: async (record: UnitSetRecord) => {
        await this.#ask({ is: 'keep set', set, record });
      },
      discard: async () => {
        // Rows that stay now are taken out when the next set begins.
        await this.#ask({ is: 'discard set', set }).catch(() => {});
      },
    };
  }

  async remove(source: string): Promise<void> {
    await this.#ask({ is: 'remove source', source });
  }

  async units(query: UnitQuery) {
    return (await this.#ask({ is: 'units of source', query })).flat();
  }

  async #sumsOf(set: number): Promise<readonly UnitSum[]> {
    return (await this.#ask({ is: 'sum set', set })).flat();
  }
}
