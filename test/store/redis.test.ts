/** The shared store keeps the contract of every register, whatever kind of Redis it lies in. */

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import t from 'tap';
import { openRedisStore } from '../../src/store/index.ts';
import { type Servers, startCluster, startSecure, startSentinels, startSingle } from './redis-servers.ts';
import { registerContract } from './register-contract.ts';

t.setTimeout(300_000);

/** Places of one Redis: each has a prefix of its own. */
function placesIn({ address }: Servers) {
  let places = 0;
  return () => {
    const prefix = `place-${++places}`;
    return { open: () => openRedisStore({ address, prefix }) };
  };
}

t.test('one server keeps the contract of every register', async t => {
  registerContract(t, placesIn(await startSingle(t)));
});

t.test('a server with TLS and a user keeps it', async t => {
  const secure = await startSecure(t);
  setDefaultCACertificates([...getCACertificates(), secure.certificate]);
  registerContract(t, placesIn(secure));
});

t.test('a master that Sentinels know of keeps it', async t => {
  registerContract(t, placesIn(await startSentinels(t)));
});

t.test('a Cluster keeps it', async t => {
  registerContract(t, placesIn(await startCluster(t)));
});
