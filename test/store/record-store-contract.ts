/**
 * The promises of what happened, as tests, for the store of one host and for the one that several share.
 *
 * A place is where one store is kept: nothing is in it at first, and opening it again after `close` gives the
 * same one. Only one is open at a place at a time.
 */

import type { Test } from 'tap';
import type { RecordStore, Store } from '../../src/store/index.ts';
import { event } from './records.ts';

type Closable = RecordStore & Pick<Store, 'close'>;

export interface Place<Kind extends Closable> {
  open(): Promise<Kind>;
}

/** Runs what is to be shown on a record store that is closed in any case. */
export async function using<Kind extends Closable, T>(
  place: Place<Kind>,
  act: (records: Kind) => Promise<T>,
): Promise<T> {
  const records = await place.open();
  try {
    return await act(records);
  } finally {
    await records.close();
  }
}

/** Events, and levels of owners. */
export function happeningsContract(t: Test, newPlace: () => Place<Closable>): void {
  t.test('events come newest first, page by page, all or those of a kind or of an owner', async t => {
    const place = newPlace();
    const events = [
      event('p-1', 30, { kind: 'policy', ownerId: null, ownerKey: null }),
      event('b', 20),
      event('a', 20, { ownerKey: 'as-she-was-called' }),
      event('c', 10, { ownerId: null }),
      event('d', 5, { ownerId: 8, ownerKey: 'bob', kind: 'policy' }),
    ];
    await using(place, records => records.write({ events }));
    await using(place, async records => {
      const ids = async (query: Parameters<RecordStore['events']>[0]) =>
        (await records.events(query)).map(({ id }) => id).join(' ');
      t.strictSame(await records.events({ limit: 9 }), events);
      t.equal(await ids({ limit: 2 }), 'p-1 b');
      t.equal(await ids({ limit: 2, after: { at: 20, id: 'b' } }), 'a c');
      t.equal(await ids({ limit: 9, after: { at: 20, id: 'as it would be' } }), 'a c d');
      t.equal(await ids({ limit: 9, kinds: ['policy'] }), 'p-1 d');
      t.equal(await ids({ limit: 4, kinds: ['policy', 'refusal', 'grace'] }), 'p-1 b a c', 'in their order');
      const alice = { ownerId: 7, ownerKey: 'alice' };
      t.equal(await ids({ limit: 9, owner: alice }), 'b a c', 'by id or by name, and each once');
      t.equal(await ids({ limit: 9, owner: { ...alice, ownerId: null } }), 'b c');
      t.equal(await ids({ limit: 1, owner: alice, after: { at: 20, id: 'a' } }), 'c');
      t.equal(await ids({ limit: 9, owner: { ownerId: 8, ownerKey: 'bob' }, kinds: ['refusal'] }), '');
      await records.write({ goneEventsBefore: 20, events: [event('a', 40)] });
      t.equal(await ids({ limit: 9 }), 'a p-1 b', 'what is put again has the new place only');
    });
  });

  t.test('levels are kept by owner', async t => {
    const place = newPlace();
    await using(place, async records => {
      await records.write({ levels: [1, 2, 3].map(ownerId => ({ ownerId, text: 'high' })) });
      await records.write({ levels: [{ ownerId: 2, text: 'low' }], goneLevels: [3, 4] });
    });
    const levels = await using(place, records => records.levels());
    t.strictSame(
      levels.toSorted((a, b) => a.ownerId - b.ownerId),
      [
        { ownerId: 1, text: 'high' },
        { ownerId: 2, text: 'low' },
      ],
    );
  });
}
