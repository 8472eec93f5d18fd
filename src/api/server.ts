/** The API on a Unix socket, or on an address. */

import { createServer, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { SoftquotaError } from '../errors.ts';
import { localAdministrator } from '../identity/index.ts';
import { listen, type SocketPlace } from '../sockets/index.ts';
import { type ApplicationOptions, application } from './application.ts';
import { Built, builtFolder } from './built.ts';
import { sayGoodbye } from './faults.ts';
import { allRoutes } from './routes/index.ts';
import type { ApiServices } from './services.ts';
import { Streams } from './stream.ts';

export interface Address {
  /** An address or a name of this machine. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
}

const drainMs = 1000;

export class ApiServer {
  readonly #server: Server;
  readonly #streams: Streams;
  /** `http://127.0.0.1:3080/`; null on a socket. */
  readonly url: string | null;

  private constructor(server: Server, streams: Streams, url: string | null) {
    this.#server = server;
    this.#streams = streams;
    this.url = url;
  }

  /** Whoever can connect is this machine's administrator. Rejects with `configuration`. */
  static async onSocket(services: ApiServices, place: SocketPlace): Promise<ApiServer> {
    const local = {
      is: 'caller',
      caller: localAdministrator,
      again: () => localAdministrator,
      renewed: null,
    } as const;
    const streams = new Streams();
    const server = serverOf({
      streams,
      routes: allRoutes(services),
      services,
      authenticate: () => local,
      browsers: null,
      web: null,
      signIn: null,
      trustedProxies: [],
    });
    await listen(server, place);
    // One connection that cannot be accepted is no reason to end.
    server.on('error', services.unforeseen);
    return new ApiServer(server, streams, null);
  }

  /** Everybody is known by their token, or their browser's session. Rejects with `configuration`. */
  static async onAddress(services: ApiServices, { host, port, trustedProxies }: Address): Promise<ApiServer> {
    const streams = new Streams();
    const server = serverOf({
      streams,
      routes: allRoutes(services),
      services,
      authenticate: (authorization, address) => services.identity.authenticate(authorization, address),
      browsers: services.identity,
      web: new Built(builtFolder),
      signIn: services,
      trustedProxies,
    });
    await new Promise<void>((resolve, reject) => {
      const failed = (cause: Error) => {
        const message = `[server] HTTP_ADDR = ${host}, HTTP_PORT = ${port}: nothing can listen there: ${cause.message}`;
        reject(new SoftquotaError('configuration', message, { cause }));
      };
      server.once('error', failed);
      server.listen({ host, port }, () => {
        server.off('error', failed);
        resolve();
      });
    });
    server.on('error', services.unforeseen);
    return new ApiServer(server, streams, urlOf(host, server));
  }

  /** Answers what is under way, leaves those who follow, and ends. */
  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve));
    this.#streams.close();
    this.#server.closeIdleConnections();
    const overdue = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(overdue);
  }
}

function serverOf(options: ApplicationOptions): Server {
  const server = createServer(application(options));
  server.on('clientError', (error, socket) => sayGoodbye(error, socket, options.services));
  return server;
}

function urlOf(host: string, server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError('the server listens on an address');
  return `http://${isIPv6(host) ? `[${host}]` : host}:${bound.port}/`;
}
