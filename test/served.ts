/** HTTP and other TCP servers of a test's own. */

import { once } from 'node:events';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import type { Test } from 'tap';

/** Has it listen at a port of 127.0.0.1, which it gives, until the test ends. */
export async function served(t: Test, given: TcpServer | HttpServer | RequestListener): Promise<number> {
  const server = typeof given === 'function' ? createServer(given) : given;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port; // as it is of every TCP server that listens
}
