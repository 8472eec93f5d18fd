/**
 * The gate: HTTP over Unix sockets, asked by hooks and upload handlers, and over TCP what reverse proxies
 * ask.
 *
 * On plain ssh every pusher can connect to the hooks' socket, and may try to exhaust the daemon. So headers,
 * bodies, slow requests and idle connections are bounded, and when there are too many connections the idle
 * ones make room.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { SoftquotaError } from '../errors.ts';
import {
  type AddressPlace,
  Connections,
  comesFrom,
  hasBody,
  type Listening,
  listen,
  listenAt,
  rejectConnection,
  type SocketPlace,
  usualShares,
} from '../service/index.ts';
import { faultReply, type Reply, sendAnswer } from './answer.ts';
import { answerCheck } from './check.ts';
import { claims, claimsNested, longestClaimsBytes } from './claims.ts';
import { answerForwardAuth, forwardAuthAddress, refusalAddress } from './forward-auth.ts';
import { answerLfsBatch, isLfsBatch } from './lfs-batch.ts';
import { BodyRoom } from './push/body-room.ts';
import { answerPush, pushAddress } from './push/request.ts';
import { ownerQuota } from './quota.ts';
import { changed, changedTrusted, units, usage } from './reports.ts';
import {
  bodyOf,
  type Nested,
  nestedParametersOf,
  type Parameters,
  parametersOf,
  requestAddress,
} from './request.ts';
import {
  changeReservation,
  isReservation,
  reservationMethods,
  reservationsAddress,
  reserve,
} from './reservations.ts';
import type { GateServices, Health } from './services.ts';
import {
  answerSource,
  isSource,
  longestSetMs,
  sourceMethods,
  sources,
  sourcesAddress,
} from './unit-sources.ts';
import { asksForWorker, noUpgrade, serveWorker, workerAddress } from './worker.ts';

type Handler = (services: GateServices, parameters: Parameters) => Reply | Promise<Reply>;

interface Route {
  readonly methods: readonly string[];
  readonly handle: Handler;
  /** Parameters that may be whole JSON values, where there are such. */
  readonly nested?: Nested;
  /** Length of a body, at most; set where it is more than usual. */
  readonly mostBodyBytes?: number;
}

const asking = ['GET', 'HEAD', 'POST'];

const healthz: Route = {
  methods: ['GET', 'HEAD'],
  handle: () => healthReply({ reasons: [], notes: [] }),
};

const openRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/check', { methods: asking, handle: answerCheck }],
  ['/v1/quota', { methods: ['GET', 'HEAD'], handle: ownerQuota }],
  ['/v1/changed', { methods: ['POST'], handle: changed }],
  [reservationsAddress, { methods: ['POST'], handle: reserve }],
  ['/healthz', healthz],
  ['/readyz', { methods: ['GET', 'HEAD'], handle: services => healthReply(services.health()) }],
]);

/** At an address, beside what proxies ask. */
const addressRoutes: ReadonlyMap<string, Route> = new Map([['/healthz', healthz]]);

const trustedRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ...openRoutes,
  ['/v1/changed', { methods: ['POST'], handle: changedTrusted }],
  ['/v1/units', { methods: ['POST'], handle: units }],
  ['/v1/usage', { methods: ['GET', 'HEAD'], handle: usage }],
  [workerAddress, { methods: ['GET', 'POST'], handle: noUpgrade }],
  [sourcesAddress, { methods: ['GET', 'HEAD'], handle: sources }],
  [
    '/v1/claims',
    { methods: ['POST'], handle: claims, nested: claimsNested, mostBodyBytes: longestClaimsBytes },
  ],
]);

/** The limits for a client; times in milliseconds. */
export interface GateLimits {
  readonly mostConnections: number;
  /** For the whole header of a request to come, from the connection on, or else from its first bytes on. */
  readonly headersMs: number;
  /** For the whole request to come. */
  readonly requestMs: number;
  /** Between two requests, and for an answer to be read. */
  readonly idleMs: number;
  /** Time that requests under way have to end when the gate closes. */
  readonly drainMs: number;
}

const usualLimits: GateLimits = {
  mostConnections: usualShares.gate,
  headersMs: 5000,
  requestMs: 10_000,
  idleMs: 60_000,
  drainMs: 3000,
};

/** Proxies pass on long addresses, in two headers, and cookies. */
const longestHeaderBytes = 64 * 1024;
const checkEveryMs = 1000;

interface GateParts {
  readonly connections: Connections;
  readonly listening: Listening;
  readonly drainMs: number;
}

export class Gate {
  readonly #parts: GateParts;

  private constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * Opens a gate at this socket; a trusted one takes what only trusted programs may say. Rejects with
   * `configuration`.
   */
  static async open(
    services: GateServices,
    place: SocketPlace,
    trust: 'anybody' | 'trusted',
    limits: Partial<GateLimits> = {},
  ): Promise<Gate> {
    const routes = trust === 'trusted' ? trustedRoutes : openRoutes;
    return Gate.#opened(
      services,
      routes,
      server => listen(server, place),
      () => true,
      limits,
    );
  }

  /**
   * Opens what reverse proxies ask at an address, for this host and the proxies that it trusts. Rejects with
   * `configuration`.
   */
  static async openAt(
    services: GateServices,
    place: AddressPlace,
    trustedProxies: readonly string[],
    limits: Partial<GateLimits> = {},
  ): Promise<Gate> {
    const mayAsk = comesFrom(trustedProxies);
    return Gate.#opened(services, addressRoutes, server => listenAt(server, place), mayAsk, limits);
  }

  static async #opened(
    services: GateServices,
    routes: ReadonlyMap<string, Route>,
    begin: (server: Server) => Promise<Listening>,
    mayAsk: (socket: Socket) => boolean,
    limits: Partial<GateLimits>,
  ): Promise<Gate> {
    const { mostConnections, headersMs, requestMs, idleMs, drainMs } = { ...usualLimits, ...limits };
    const isTrusted = routes === trustedRoutes;
    const server = createServer({
      maxHeaderSize: longestHeaderBytes,
      headersTimeout: headersMs,
      // Sets of a source may take longer; other bodies have their own time limit.
      requestTimeout: isTrusted ? Math.max(requestMs, longestSetMs) : requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(checkEveryMs, headersMs),
      // All other requests are answered as if they did not ask for another protocol.
      shouldUpgradeCallback: request => isTrusted && asksForWorker(request),
    });
    server.maxRequestsPerSocket = 0;
    server.timeout = idleMs;
    // A client that has nothing more to ask may say so and still wait for the answer. Node has the switch,
    // its types do not.
    Object.assign(server, { httpAllowHalfOpen: true });
    const connections = new Connections(server, { most: mostConnections });
    const room = new BodyRoom();
    server.on('request', (request, response) => {
      const address = requestAddress(request);
      if (!mayAsk(request.socket)) {
        refuseStranger(services, request, response);
        return;
      }
      if (address === forwardAuthAddress || address === refusalAddress) {
        void answerForwardAuth(services, request, response);
        return;
      }
      if (isLfsBatch(services, request)) {
        void answerLfsBatch(services, request, response);
        return;
      }
      if (isTrusted && isSource(address)) {
        serveSource(services, request, response);
        return;
      }
      if (isTrusted && hasBody(request)) endAfter(requestMs, request);
      if (address === pushAddress && routes !== addressRoutes) {
        void answerPush(services, room, request, response);
        return;
      }
      serve(services, routes, request, response);
    });
    server.on('upgrade', (_request, socket, head) => {
      // The server listens on sockets only.
      if (!(socket instanceof Socket)) return;
      connections.upgraded(socket);
      serveWorker(services, socket, head);
    });
    // Requests that came before a fault are answered before it.
    server.on('clientError', (error, socket) =>
      connections.whenAnswered(socket, () => rejectConnection(error, socket)),
    );
    const listening = await begin(server);
    // An error of accepting, such as no free descriptor, loses one connection and must not end the gate.
    server.on('error', services.unforeseen);
    return new Gate({ connections, listening, drainMs });
  }

  /** Ends some connections on which nothing is asked. */
  makeRoom(): void {
    this.#parts.connections.makeRoom();
  }

  /** Answers whoever has connected, and ends. */
  close(): Promise<void> {
    const { connections, listening, drainMs } = this.#parts;
    return connections.close(listening, drainMs);
  }
}

/** The log says it as well: where a proxy shows no answer of ours, nobody sees why all is refused. */
function refuseStranger(services: GateServices, request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const why = `${request.socket.remoteAddress} is not in [server] TRUSTED_PROXIES`;
  services.notUnderstood(why);
  sendAnswer(request, response, faultReply(new SoftquotaError('not_trusted', why), services.unforeseen));
}

/** Ends a request whose body has not come whole by then. */
function endAfter(milliseconds: number, request: IncomingMessage): void {
  // Node tells of requests that it finds overdue by this code.
  const error = Object.assign(new Error('it did not come whole'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  const overdue = setTimeout(() => rejectConnection(error, request.socket), milliseconds);
  request.once('close', () => clearTimeout(overdue));
}

function serve(
  services: GateServices,
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const fail = (error: unknown) => sendAnswer(request, response, faultReply(error, services.unforeseen));
  // A body is read to its end before anything is said, so that whoever sends it gets to hear the answer.
  if (hasBody(request)) {
    bodyOf(request, routes.get(requestAddress(request))?.mostBodyBytes)
      .then(body => answer(services, routes, request, response, body))
      .then(reply => sendAnswer(request, response, reply))
      .catch(fail);
    return;
  }
  try {
    const reply = answer(services, routes, request, response, null);
    if (reply instanceof Promise) reply.then(found => sendAnswer(request, response, found)).catch(fail);
    else sendAnswer(request, response, reply);
  } catch (error) {
    fail(error);
  }
}

/** Its body is read while it is served, and may be long and slow. */
function serveSource(services: GateServices, request: IncomingMessage, response: ServerResponse): void {
  const method = request.method ?? '';
  if (method !== 'PUT') request.resume();
  const served = sourceMethods.includes(method)
    ? answerSource(services, request)
    : Promise.reject(wrongMethod(response, `${sourcesAddress}/NAME`, sourceMethods));
  served
    .then(reply => sendAnswer(request, response, reply))
    .catch(error => sendAnswer(request, response, faultReply(error, services.unforeseen)));
}

function answer(
  services: GateServices,
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer | null,
): Reply | Promise<Reply> {
  const route = routeOf(routes, request, response);
  const { nested } = route;
  return route.handle(
    services,
    nested === undefined ? parametersOf(request, body) : nestedParametersOf(request, body, nested),
  );
}

function routeOf(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): Route {
  const address = requestAddress(request);
  const route = isReservation(address) ? reservationRoute(request) : routes.get(address);
  if (route === undefined) {
    if (trustedRoutes.has(address) || isSource(address)) {
      const where =
        routes === openRoutes
          ? 'the trusted socket only ([server] TRUSTED_SOCKET)'
          : "the gate's sockets only";
      throw new SoftquotaError('not_trusted', `${address} is served on ${where}`);
    }
    throw new SoftquotaError(
      'not_found',
      'no such address; the addresses are /v1/check, /v1/push, /v1/changed, /v1/reservations, /v1/forward-auth, /healthz and /readyz',
    );
  }
  const method = request.method ?? '';
  if (!route.methods.includes(method)) throw wrongMethod(response, address, route.methods);
  return route;
}

function reservationRoute(request: IncomingMessage): Route {
  const method = request.method ?? '';
  return {
    methods: reservationMethods,
    handle: (services, parameters) =>
      changeReservation(services, method, requestAddress(request), parameters),
  };
}

function wrongMethod(response: ServerResponse, address: string, methods: readonly string[]): SoftquotaError {
  response.setHeader('Allow', methods.join(', '));
  return new SoftquotaError('wrong_method', `${address} takes ${methods.join(', ')}`);
}

function healthReply({ reasons, notes }: Health): Reply {
  const status = reasons.length === 0 ? 200 : 503;
  const text = [...(status === 200 ? ['ok'] : reasons), ...notes].map(line => `${line}\n`).join('');
  return {
    status,
    json: () => ({ status: status === 200 ? 'ok' : 'not ready', reasons, notes }),
    text: () => text,
  };
}
