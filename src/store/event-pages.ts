/** Reading all events of a store, some at a time. */

import type { EventRecord, RecordStore } from './record-store.ts';

const eventsAtOnce = 1000;

/** Gives all events, newest first. Rejects as `RecordStore.events` does. */
export async function* eventPages(
  records: Pick<RecordStore, 'events'>,
): AsyncGenerator<readonly EventRecord[]> {
  for (let after: EventRecord | undefined; ; ) {
    const page = await records.events({ limit: eventsAtOnce, ...(after === undefined ? {} : { after }) });
    yield page;
    after = page.at(-1);
    if (page.length < eventsAtOnce) return;
  }
}
