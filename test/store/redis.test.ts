/** The shared store keeps its contracts, whatever kind of Redis it lies in. */

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import t, { type Test } from 'tap';
import { happeningsContract } from './record-store-contract.ts';
import { event } from './records.ts';
import { placeIn } from './redis-places.ts';
import { type Servers, startSecure, startSentinels, startSingle } from './redis-servers.ts';
import { sharedContract } from './shared-contract.ts';
import { opened } from './shared-place.ts';

t.setTimeout(300_000);

async function contracts(t: Test, { address }: Servers): Promise<void> {
  const newPlace = () => placeIn(address);
  t.test('of what happened', async t => happeningsContract(t, newPlace));
  t.test('as what hosts share', async t => sharedContract(t, newPlace));
}

t.test('one server keeps the contracts', async t => contracts(t, await startSingle(t)));

t.test('a server with TLS and a user keeps the contracts', async t => {
  const secure = await startSecure(t);
  setDefaultCACertificates([...getCACertificates(), secure.certificate]);
  await contracts(t, secure);
});

t.test('a master that Sentinels know of keeps the contracts', async t =>
  contracts(t, await startSentinels(t)),
);

t.test('an event is read once, also while another host writes newer ones', async t => {
  const { address } = await startSingle(t);
  const place = placeIn(address);
  const [reader, writer] = [await opened(t, place), await opened(t, place)];
  const of = (kind: string, ids: readonly number[]) => ids.map(at => event(`${kind}-${at}`, at, { kind }));
  const numbers = Array.from({ length: 3000 }, (_, n) => n + 1);
  await writer.write({ events: of('policy', numbers) });
  for (let round = 0; round < 20; round += 1) {
    const reading = reader.events({ kinds: ['policy'], limit: 10_000 });
    await writer.write({ events: of('refusal', [numbers.length + 1 + round]) });
    const ids = (await reading).map(({ id }) => id);
    t.equal(new Set(ids).size, ids.length, `round ${round}`);
  }
});
