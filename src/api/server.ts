/** The API on a Unix socket, or on an address. */

import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { localAdministrator } from '../identity/index.ts';
import {
  type ConnectionLimits,
  Connections,
  closeServer,
  listen,
  listenAt,
  type SocketPlace,
} from '../service/index.ts';
import { peersBehind } from './address.ts';
import type { ApplicationOptions } from './application.ts';
import { Built, builtFolder } from './built.ts';
import { answerUnloaded, rejectConnection } from './faults.ts';
import type { ApiServices } from './services.ts';

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

export class ApiServer {
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #withdraw: () => boolean;
  /** `http://127.0.0.1:3080/`; null on a socket. */
  readonly url: string | null;

  private constructor({ server, connections }: Parts, withdraw: () => boolean, url: string | null) {
    this.#server = server;
    this.#connections = connections;
    this.#withdraw = withdraw;
    this.url = url;
  }

  /** Everybody who can connect is this host's administrator. Rejects with `configuration`. */
  static async onSocket(
    services: ApiServices,
    place: SocketPlace,
    mostConnections: number,
  ): Promise<ApiServer> {
    const local = {
      is: 'caller',
      caller: localAdministrator,
      again: () => localAdministrator,
      renewed: null,
    } as const;
    const parts = partsOf(
      services,
      {
        authenticate: () => local,
        browsers: null,
        metrics: { metrics: services.metrics, isLocal: true },
        web: null,
        pages: null,
        trustedProxies: [],
      },
      { most: mostConnections },
    );
    const listening = await listen(parts.server, place);
    // One connection that cannot be accepted is no reason to end.
    parts.server.on('error', services.unforeseen);
    return new ApiServer(parts, () => listening.withdraw(), null);
  }

  /** Everybody is known by their token, or their browser's session. Rejects with `configuration`. */
  static async onAddress(
    services: ApiServices,
    { host, port, trustedProxies, mostConnections: most }: ListenAddress,
  ): Promise<ApiServer> {
    const parts = partsOf(
      services,
      {
        authenticate: (authorization, address) => services.identity.authenticate(authorization, address),
        browsers: services.identity,
        metrics: { metrics: services.metrics, isLocal: false },
        web: new Built(builtFolder),
        pages: services,
        trustedProxies,
      },
      { most, ofOne: { most: Math.ceil(most / 2), peerOf: peersBehind(trustedProxies) } },
    );
    const { server } = parts;
    await listenAt(server, { host, port, settings: { host: '[server] HTTP_ADDR', port: 'HTTP_PORT' } });
    server.on('error', services.unforeseen);
    return new ApiServer(parts, () => false, urlOf(host, server));
  }

  /** Ends some connections on which nothing is asked. */
  makeRoom(): void {
    this.#connections.makeRoom();
  }

  /** Answers whoever has connected, and ends. */
  close(): Promise<void> {
    return closeServer({
      server: this.#server,
      connections: this.#connections,
      withdraw: this.#withdraw,
      drainMs,
    });
  }
}

interface Parts {
  readonly server: Server;
  readonly connections: Connections;
}

function partsOf(services: ApiServices, options: WaitingOptions, limits: ConnectionLimits): Parts {
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkEveryMs,
  });
  server.timeout = silentMs;
  const connections = new Connections(server, limits);
  server.on('request', loadedLater(services, options));
  // Requests that came before a fault are answered before it.
  server.on('clientError', (error, socket) =>
    connections.whenAnswered(socket, () => rejectConnection(error, socket, services)),
  );
  return { server, connections };
}

type WaitingOptions = Omit<ApplicationOptions, 'routes' | 'services'>;

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
