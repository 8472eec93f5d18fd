/** The shared store keeps its contracts, whatever kind of Redis it lies in. */

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import t, { type Test } from 'tap';
import { openRedisStore } from '../../src/store/index.ts';
import { happeningsContract } from './record-store-contract.ts';
import { type Servers, startSecure, startSentinels, startSingle } from './redis-servers.ts';
import { sharedContract } from './shared-contract.ts';
import type { SharedPlace } from './shared-place.ts';

t.setTimeout(300_000);

/** Places of one Redis: each has a prefix of its own. */
function placesIn({ address }: Servers): () => SharedPlace {
  let places = 0;
  return () => {
    const prefix = `place-${++places}`;
    return { prefix, open: settings => openRedisStore({ address, prefix, ...settings }) };
  };
}

async function contracts(t: Test, servers: Servers): Promise<void> {
  const newPlace = placesIn(servers);
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
