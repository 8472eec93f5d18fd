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
import { type SetAnswers, type SetQuestion, sumsAtOnce } from './unit-sets.ts';

type Ask = <Question extends SetQuestion>(question: Question) => Promise<SetAnswers[Question['is']]>;

export class SqliteUnitSources implements UnitSourceStore {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async load(): Promise<readonly KeptSet[]> {
    const sets: KeptSet[] = [];
    for (const { number, ...set } of await this.#ask({ is: 'list' })) {
      sets.push({ set, sums: await this.#sumsOf(number) });
    }
    return sets;
  }

  async begin(newSet: NewUnitSet): Promise<UnitSetWriter> {
    const set = await this.#ask({ is: 'begin', set: newSet });
    return {
      take: async chunk => {
        await this.#ask({ is: 'take', set, chunk });
      },
      finish: async () => {
        await this.#ask({ is: 'end', set });
        return this.#sumsOf(set);
      },
      keep: async (record: UnitSetRecord) => {
        await this.#ask({ is: 'keep', set, record });
      },
      discard: async () => {
        // Rows that stay now are taken out when the next set begins.
        await this.#ask({ is: 'discard', set }).catch(() => {});
      },
    };
  }

  async remove(source: string): Promise<void> {
    await this.#ask({ is: 'remove', source });
  }

  units(query: UnitQuery) {
    return this.#ask({ is: 'units', query });
  }

  async #sumsOf(set: number): Promise<readonly UnitSum[]> {
    const sums: UnitSum[] = [];
    for (let isMore = true; isMore; ) {
      const some = await this.#ask({ is: 'sums', set, after: sums.at(-1) ?? null });
      sums.push(...some);
      isMore = some.length === sumsAtOnce;
    }
    return sums;
  }
}
