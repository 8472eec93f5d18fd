/** The API on a Unix socket, or on an address. */

import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { localAdministrator } from '../identity/index.ts';
import * as service from '../service/index.ts';
import type { ApplicationOptions } from './application.ts';
import { answerUnloaded, rejectionBody } from './faults.ts';
import type { ApiServices } from './services.ts';
import { Built, builtFolder } from './web.ts';

interface ListenAddress {
  /** An address or a name of this host. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** At a time; one address has at most half of them, unless it is a proxy's. */
  readonly mostConnections: number;
}

const drainMs = 1000;

/** For the whole header of a request to come, from the connection on, in milliseconds. */
const headersMs = 10_000;
/** For the whole request to come: a policy of 16 MiB over a slow line. */
const requestMs = 60_000;
/** Between two signs of life. */
const silentMs = 120_000;
const checkEveryMs = 1000;

interface ApiServer {
  /** Ends some connections on which nothing is asked. */
  makeRoom(): void;
  /** Answers whoever has connected, and ends. */
  close(): Promise<void>;
}

/** Everybody who can connect is this host's administrator. Rejects with `configuration`. */
export async function serveLocally(
  services: ApiServices,
  place: service.SocketPlace,
  mostConnections: number,
): Promise<ApiServer> {
  const local = {
    is: 'caller',
    caller: localAdministrator,
    again: () => localAdministrator,
    renewed: null,
  } as const;
  const options = {
    authenticate: () => local,
    browsers: null,
    metrics: { metrics: services.metrics, isLocal: true },
    web: null,
    pages: null,
    trustedProxies: [],
  };
  return serve(services, options, { most: mostConnections }, server => service.listen(server, place));
}

/**
 * Everybody is known by their token, or their browser's session. `url` is such as `http://127.0.0.1:3080/`.
 * Rejects with `configuration`.
 */
export async function serveEverybody(
  services: ApiServices,
  { host, port, trustedProxies, mostConnections: most }: ListenAddress,
): Promise<ApiServer & { readonly url: string }> {
  const options: WaitingOptions = {
    authenticate: (authorization, address) => services.identity.authenticate(authorization, address),
    browsers: services.identity,
    metrics: { metrics: services.metrics, isLocal: false },
    web: new Built(builtFolder),
    pages: services,
    trustedProxies,
  };
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

type WaitingOptions = Omit<ApplicationOptions, 'routes' | 'services'>;

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
  // Requests that came before a fault are answered before it.
  server.on('clientError', (error, socket) =>
    connections.whenAnswered(socket, () => service.rejectConnection(error, socket, rejectionBody(services))),
  );
  const listening = await begin(server);
  // One connection that cannot be accepted is no reason to end.
  server.on('error', services.unforeseen);
  return {
    makeRoom: () => connections.makeRoom(),
    close: () => connections.close(listening, drainMs),
  };
}

/** Tells a connection's address; null for a proxy's, and for this host's own: many may be behind them. */
function peersBehind(proxies: readonly string[]): (socket: Socket) => string | null {
  const hasManyBehind = service.comesFrom(proxies);
  return socket => (hasManyBehind(socket) ? null : (socket.remoteAddress ?? null));
}

/** Loads the application when it is first asked something: nothing else of the daemon needs it. */
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
