/** Serves the API on the Unix socket and on a TCP address. */

import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import * as service from '../service/index.ts';
import type { ApplicationOptions } from './application.ts';
import { answerUnloaded, rejectionBody } from './faults.ts';
import type { ApiServices } from './services.ts';
import { Built } from './web.ts';

interface ListenAddress {
  /** An address or a name of this host. */
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Limit of simultaneous connections. One address may have half of them, unless it is a proxy's. */
  readonly mostConnections: number;
}

const drainMs = 1000;

/** Milliseconds from the connection until the headers of a request are complete. */
const headersMs = 10_000;
/** Milliseconds until a request is complete: enough for a policy of 16 MiB over a slow line. */
const requestMs = 60_000;
/** Milliseconds without traffic after which a connection is closed. */
const silentMs = 120_000;
const checkEveryMs = 1000;

interface ApiServer {
  /** Closes some idle connections. */
  makeRoom(): void;
  /** Answers the requests that have arrived, and stops. */
  close(): Promise<void>;
}

/**
 * Serves the Unix socket. Everybody who can connect is the administrator of this host. Rejects with
 * `configuration`.
 */
export async function serveLocally(
  services: ApiServices,
  place: service.SocketPlace,
  mostConnections: number,
): Promise<ApiServer> {
  const options = { web: null, trustedProxies: [] };
  return serve(services, options, { most: mostConnections }, server => service.listen(server, place));
}

/**
 * Serves the TCP address. Callers are authenticated by a token or a browser session. `url` is such as
 * `http://127.0.0.1:3080/`. Rejects with `configuration`.
 */
export async function serveEverybody(
  services: ApiServices,
  { host, port, trustedProxies, mostConnections: most }: ListenAddress,
): Promise<ApiServer & { readonly url: string }> {
  const options = { web: new Built(), trustedProxies };
  const limits = { most, ofOne: { most: Math.ceil(most / 2), peerOf: peersBehind(trustedProxies) } };
  const settings = { host: '[server] HTTP_ADDR', port: 'HTTP_PORT' };
  let url = '';
  const api = await serve(services, options, limits, async server => {
    const listening = await service.listenAt(server, { host, port, settings });
    url = urlOf(host, server);
    return listening;
  });
  return { ...api, url };
}

type WaitingOptions = Pick<ApplicationOptions, 'trustedProxies' | 'web'>;

async function serve(
  services: ApiServices,
  options: WaitingOptions,
  limits: service.ConnectionLimits,
  begin: (server: Server) => Promise<service.Listening>,
): Promise<ApiServer> {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkEveryMs,
  });
  server.timeout = silentMs;
  const connections = new service.Connections(server, limits);
  server.on('request', loadedLater(services, options));
  // Earlier requests of the connection are answered first.
  server.on('clientError', (error, socket) =>
    connections.whenAnswered(socket, () => service.rejectConnection(error, socket, rejectionBody(services))),
  );
  const listening = await begin(server);
  // A connection that cannot be accepted must not end the daemon.
  server.on('error', services.unforeseen);
  return {
    makeRoom: () => connections.makeRoom(),
    close: () => connections.close(listening, drainMs),
  };
}

/**
 * Makes a function that returns the address of a connection. It returns null for proxies and for this host
 * itself, because they stand for many clients.
 */
function peersBehind(proxies: readonly string[]): (socket: Socket) => string | null {
  const hasManyBehind = service.comesFrom(proxies);
  return socket => (hasManyBehind(socket) ? null : (socket.remoteAddress ?? null));
}

/** Loads the application with the first request: the rest of the daemon does not need it. */
function loadedLater(services: ApiServices, options: WaitingOptions): RequestListener {
  let app: RequestListener | null = null;
  return async (request, response) => {
    try {
      if (app === null) {
        const [{ application }, { allRoutes }] = await Promise.all([
          import('./application.ts'),
          import('./routes/index.ts'),
        ]);
        app ??= application({ ...options, services, routes: allRoutes(services) });
      }
    } catch (error) {
      services.unforeseen(error);
      return answerUnloaded(response, services);
    }
    app(request, response);
  };
}

function urlOf(host: string, server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError('the server listens on an address');
  return `http://${isIPv6(host) ? `[${host}]` : host}:${bound.port}/`;
}
