/** The shared store keeps its contracts, and is reached in whatever kind of Redis it lies. */

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import t, { type Test } from 'tap';
import { happeningsContract } from './record-store-contract.ts';
import { event } from './records.ts';
import { placeIn } from './redis-places.ts';
import { type Servers, startSecure, startSentinels, startSingle } from './redis-servers.ts';
import { hostsContract, sharedContract } from './shared-contract.ts';
import { opened } from './shared-place.ts';

t.setTimeout(300_000);

t.test('one server keeps the contracts', async t => {
  const { address } = await startSingle(t);
  const newPlace = () => placeIn(address);
  t.test('of what happened', async t => happeningsContract(t, newPlace));
  t.test('as what hosts share', async t => sharedContract(t, newPlace));
});

/** Runs what sends to the server and hears from it, which is all that a way there can break. */
async function isReached(t: Test, { address }: Servers): Promise<void> {
  const newPlace = () => placeIn(address);
  t.test('for what happened', async t => happeningsContract(t, newPlace));
  t.test('for hosts and their messages', async t => hostsContract(t, newPlace));
}

t.test('a server with TLS and a user is reached', async t => {
  const secure = await startSecure(t);
  setDefaultCACertificates([...getCACertificates(), secure.certificate]);
  await isReached(t, secure);
});

t.test('a master that Sentinels know of is reached', async t => isReached(t, await startSentinels(t)));

t.test('an event is read once, also while another host writes newer ones', async t => {
  const { address } = await startSingle(t);
  const place = placeIn(address);
  const [reader, writer] = [await opened(t, place), await opened(t, place)];
  const of = (kind: string, ids: readonly number[]) => ids.map(at => event(`${kind}-${at}`, at, { kind }));
  const numbers = Array.from({ length: 3000 }, (_, n) => n + 1);
  await writer.write({ events: of('policy', numbers) });
  for (let round = 0; round < 20; round += 1) {
    const reading = reader.events({ kind: 'policy', limit: 10_000 });
    await writer.write({ events: of('refusal', [numbers.length + 1 + round]) });
    const ids = (await reading).map(({ id }) => id);
    t.equal(new Set(ids).size, ids.length, `round ${round}`);
  }
});
