/** The sets that sources put, seen from outside the store's thread. */

import type { KeptSet, UnitSourceStore } from '../unit-sources.ts';
import type { Chunk } from './messages.ts';
import type { SetQuestion } from './unit-sets.ts';

/** `ask` gives all chunks of the answer. */
export function unitSourcesOn(
  ask: <Asked extends SetQuestion>(question: Asked) => Promise<readonly Chunk<Asked>[]>,
): UnitSourceStore {
  const sumsOf = async (set: number) => (await ask({ is: 'sum set', set })).flat();
  const act = async (question: SetQuestion): Promise<void> => void (await ask(question));
  return {
    load: async () => {
      const sets: KeptSet[] = [];
      for (const { number, ...set } of (await ask({ is: 'list sets' })).flat()) {
        sets.push({ set, sums: await sumsOf(number) });
      }
      return sets;
    },
    begin: async newSet => {
      const [set = 0] = await ask({ is: 'begin set', set: newSet });
      return {
        take: chunk => act({ is: 'take units', set, chunk }),
        finish: async () => {
          await act({ is: 'end set', set });
          return sumsOf(set);
        },
        keep: record => act({ is: 'keep set', set, record }),
        // Rows that stay now are taken out when the next set begins.
        discard: () => act({ is: 'discard set', set }).catch(() => {}),
      };
    },
    remove: source => act({ is: 'remove source', source }),
    units: async query => (await ask({ is: 'units of source', query })).flat(),
  };
}
