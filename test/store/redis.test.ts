/** The shared store keeps its contracts, whatever kind of Redis it lies in. */

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import t, { type Test } from 'tap';
import { happeningsContract } from './record-store-contract.ts';
import { placeIn } from './redis-places.ts';
import { type Servers, startSecure, startSentinels, startSingle } from './redis-servers.ts';
import { sharedContract } from './shared-contract.ts';

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
