/**
 * The parts that every provider of tests has: a server on the loopback, which ends with the test, and a
 * client that it knows.
 */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Test } from 'tap';

export interface Client {
  readonly id: string;
  readonly secret: string;
}

export interface Issuer {
  readonly issuer: string;
  readonly client: Client;
  /** It listens; whose provider it is answers its requests. */
  readonly server: Server;
}

export async function startIssuer(t: Test): Promise<Issuer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on a port');
  return {
    issuer: `http://127.0.0.1:${address.port}`,
    client: { id: 'softquota', secret: 'a-secret-of-the-client-for-tests' },
    server,
  };
}
