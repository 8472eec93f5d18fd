/** Several questions in one message, with all their answers or the first fault. */

import type { ChainableCommander, Redis } from 'ioredis';

export type Fill = (questions: ChainableCommander) => ChainableCommander;

/** These questions together, one after the other; others may come between. */
export async function pipeline(client: Redis, fill: Fill): Promise<readonly unknown[]> {
  return resultsOf(await fill(client.pipeline()).exec());
}

/** All of these at one moment. A Redis whose memory is full takes no transactions, also to read only. */
export async function multi(client: Redis, fill: Fill): Promise<readonly unknown[]> {
  return resultsOf(await fill(client.multi()).exec());
}

function resultsOf(results: readonly [Error | null, unknown][] | null): readonly unknown[] {
  if (results === null) throw new Error('a transaction was not carried out');
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}
