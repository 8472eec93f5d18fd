/** A set with as many units as there may be: it holds up nobody who asks meanwhile. */

import { join } from 'node:path';
import t from 'tap';
import { Ledger } from '../../src/ledger/index.ts';
import { openStore } from '../../src/store/index.ts';
import { directoryFor, lfs, settings, silentLog, used } from '../ledger/world.ts';
import { longestTurn } from '../own-time.ts';

const units = 100_000;
const owners = units / 50;
const pieceUnits = 500;
const longestTurnMs = 50;

t.setTimeout(600_000);

/** Units of one owner lie far apart, as in a table that is read in its own order. */
async function* set(bytes: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < units; from += pieceUnits) {
    const piece = Array.from({ length: pieceUnits }, (_, index) => {
      const number = from + index;
      return `{"owner":"owner-${(number * 7919) % owners}","subject":"${lfs}","unit":"unit ${number}","bytes":${bytes}}\n`;
    });
    yield Buffer.from(piece.join(''));
  }
}

t.test(`${units} units of ${owners} owners hold the event loop ${longestTurnMs} ms at most`, async t => {
  const directory = directoryFor(t);
  const store = await openStore({ file: join(directory, 'softquota.db') });
  const ledger = await Ledger.open({
    ...{ store, unitSources: store.unitSources },
    host: 'here',
    settings,
    foldCase: true,
    log: silentLog,
  });
  t.teardown(() => ledger.close());
  let [sources, sets] = [0, 0];
  const heldBy = (act: () => Promise<unknown>) => longestTurn(longestTurnMs, act);
  const turns = {
    'a first set': await heldBy(() => ledger.sources.put(`s${sources++}`, 1000, set(3))),
    'the next one': await heldBy(() => ledger.sources.put('s0', 1000, set(4 + sets++))),
    'its units': await heldBy(() => ledger.shares.unitsOf('owner-1', { most: 1000 })),
    'its end': await heldBy(async () => {
      await ledger.sources.put('s0', 1000, set(2));
      await ledger.sources.remove('s0');
    }),
  };
  for (let at = 1; at < sources; at++) await ledger.sources.remove(`s${at}`);
  t.comment(JSON.stringify(turns));
  for (const [what, milliseconds] of Object.entries(turns))
    t.ok(milliseconds < longestTurnMs, `${what}: ${milliseconds} ms`);
  t.equal(used(ledger, 'owner-1', lfs), 0);
});
