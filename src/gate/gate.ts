/**
 * The gate: HTTP over Unix sockets, asked by hooks and upload handlers.
 *
 * Whoever may connect may also try to wear it out, since on plain ssh every pusher can reach the
 * hooks' socket. So headers, bodies, slow requests and idle connections are bounded, and when there are too
 * many connections the idle ones make room.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { SoftquotaError } from '../errors.ts';
import { listen, type SocketPlace } from '../sockets/index.ts';
import { faultReply, type Reply, send } from './answer.ts';
import { check } from './check.ts';
import { changed, changedTrusted, units, usage } from './reports.ts';
import { addressOf, hasBody, type Parameters, parametersOf, queryOf } from './request.ts';
import type { GateServices } from './services.ts';

type Handler = (services: GateServices, parameters: Parameters) => Reply | Promise<Reply>;

interface Route {
  readonly methods: readonly string[];
  readonly handle: Handler;
}

const asking = ['GET', 'HEAD', 'POST'];

const openRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/check', { methods: asking, handle: check }],
  ['/v1/changed', { methods: ['POST'], handle: changed }],
  ['/healthz', { methods: ['GET', 'HEAD'], handle: () => healthReply([]) }],
  ['/readyz', { methods: ['GET', 'HEAD'], handle: services => healthReply(services.health().reasons) }],
]);

const trustedRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ...openRoutes,
  ['/v1/changed', { methods: ['POST'], handle: changedTrusted }],
  ['/v1/units', { methods: ['POST'], handle: units }],
  ['/v1/usage', { methods: ['GET', 'HEAD'], handle: usage }],
]);

const limits = {
  maxHeaderSize: 16 * 1024,
  /** For the whole header of a request to come. */
  headersTimeout: 5000,
  /** For the whole request to come. */
  requestTimeout: 10_000,
  /** Between two requests. */
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 1000,
} as const;

const mostConnections = 4096;
const drainMs = 2000;

export class Gate {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Opens a gate at this socket; a trusted one takes what only trusted programs may say. Rejects with `configuration`. */
  static async open(services: GateServices, place: SocketPlace, trust: 'anybody' | 'trusted'): Promise<Gate> {
    const routes = trust === 'trusted' ? trustedRoutes : openRoutes;
    const server = createServer(limits, (request, response) => serve(services, routes, request, response));
    server.maxRequestsPerSocket = 0;
    let connections = 0;
    server.on('connection', socket => {
      connections++;
      socket.once('close', () => {
        connections--;
      });
      if (connections <= mostConnections) return;
      server.closeIdleConnections();
      if (connections > mostConnections) socket.destroy();
    });
    server.on('clientError', (_error, socket) => {
      if (socket.writable)
        socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      else socket.destroy();
    });
    await listen(server, place);
    return new Gate(server);
  }

  /** Takes no more connections, answers what is under way, and ends. */
  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve));
    const overdue = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(overdue);
  }
}

function serve(
  services: GateServices,
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const fail = (error: unknown) => {
    // What was not read of a body that is too long would be taken for the next request.
    if (!request.complete) response.shouldKeepAlive = false;
    send(request, response, faultReply(error, services.unforeseen));
  };
  try {
    const route = routeOf(routes, request, response);
    if (hasBody(request)) {
      parametersOf(request)
        .then(parameters => route.handle(services, parameters))
        .then(reply => send(request, response, reply))
        .catch(fail);
      return;
    }
    const reply = route.handle(services, queryOf(request));
    if (reply instanceof Promise) reply.then(found => send(request, response, found)).catch(fail);
    else send(request, response, reply);
  } catch (error) {
    fail(error);
  }
}

function routeOf(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): Route {
  const address = addressOf(request);
  const route = routes.get(address);
  if (route === undefined) {
    if (trustedRoutes.has(address)) {
      throw new SoftquotaError(
        'not_trusted',
        `${address} is served on the trusted socket only ([server] TRUSTED_SOCKET)`,
      );
    }
    throw new SoftquotaError(
      'not_found',
      'no such address; there are /v1/check, /v1/changed, /healthz and /readyz',
    );
  }
  const method = request.method ?? '';
  if (!route.methods.includes(method)) {
    response.setHeader('Allow', route.methods.join(', '));
    throw new SoftquotaError('wrong_method', `${address} takes ${route.methods.join(', ')}`);
  }
  return route;
}

function healthReply(reasons: readonly string[]): Reply {
  const status = reasons.length === 0 ? 200 : 503;
  const text = reasons.length === 0 ? 'ok\n' : `${reasons.join('\n')}\n`;
  return { status, json: { status: status === 200 ? 'ok' : 'not ready', reasons }, text };
}
