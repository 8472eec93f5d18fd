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
import { answerCheck } from './check.ts';
import { claims, claimsNested, longestClaimsBytes } from './claims.ts';
import { answerForwardAuth, forwardAuthAddress, refusalAddress } from './forward-auth.ts';
import { answerLfsBatch, isLfsBatch } from './lfs-batch.ts';
import { answerObjects, longestObjectsBytes } from './lfs-objects.ts';
import { answerPush, BodyRoom, pushAddress } from './push/request.ts';
import {
  changed,
  changedTrusted,
  changeReservation,
  ownerQuota,
  reservationsAddress,
  reserve,
  units,
  usage,
} from './reports.ts';
import {
  bodyOf,
  faultReply,
  type Nested,
  type Parameters,
  parametersOf,
  type Reply,
  replyWith,
  requestAddress,
  sendAnswer,
} from './request.ts';
import type { GateServices, Health } from './services.ts';
import { answerSource, longestSetMs, sources, sourcesAddress } from './unit-sources.ts';
import { asksForWorker, noUpgrade, workerAddress } from './worker.ts';

interface Route {
  readonly methods: readonly string[];
  readonly handle: (
    services: GateServices,
    parameters: Parameters,
    request: IncomingMessage,
  ) => Reply | Promise<Reply>;
  /** Parameters that may be whole JSON values, where there are such. */
  readonly nested?: Nested;
  /** Length of a body, at most; set where it is more than usual. */
  readonly mostBodyBytes?: number;
  /** The handler reads the body of a PUT, which may be long and slow. */
  readonly isStreamed?: true;
  readonly shown?: string;
}

const asking = ['GET', 'HEAD', 'POST'];

const healthz: Route = {
  methods: ['GET', 'HEAD'],
  handle: () => healthReply({ reasons: [], notes: [] }),
};

const check: Route = {
  methods: asking,
  handle: (services, parameters) =>
    parameters.has('objects') ? answerObjects(services, parameters) : answerCheck(services, parameters),
  mostBodyBytes: longestObjectsBytes,
};

/** By address; one that ends in a slash has all below it. */
const openRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/check', check],
  ['/v1/quota', { methods: ['GET', 'HEAD'], handle: ownerQuota }],
  ['/v1/changed', { methods: ['POST'], handle: changed }],
  [reservationsAddress, { methods: ['POST'], handle: reserve }],
  [`${reservationsAddress}/`, { methods: ['DELETE', 'PUT'], handle: changeReservation }],
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
    `${sourcesAddress}/`,
    {
      methods: ['GET', 'HEAD', 'PUT', 'DELETE'],
      handle: answerSource,
      isStreamed: true,
      shown: `${sourcesAddress}/NAME`,
    },
  ],
  [
    '/v1/claims',
    { methods: ['POST'], handle: claims, nested: claimsNested, mostBodyBytes: longestClaimsBytes },
  ],
]);

/** The limits for a client; times in milliseconds. */
interface GateLimits {
  readonly mostConnections: number;
  /** For the whole header of a request to come, from the connection on, or else from its first bytes on. */
  readonly headersMs: number;
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

export interface Gate {
  makeRoom(): void;
  close(): Promise<void>;
}

/** Listens at this socket; a trusted gate takes trusted programs' words. Rejects with `configuration`. */
export function openGate(
  services: GateServices,
  place: SocketPlace,
  trust: 'anybody' | 'trusted',
  limits: Partial<GateLimits> = {},
): Promise<Gate> {
  const routes = trust === 'trusted' ? trustedRoutes : openRoutes;
  const begin = (server: Server) => listen(server, place);
  return opened(services, routes, begin, () => true, limits);
}

/** Opens at an address what this host and trusted proxies ask. Rejects with `configuration`. */
export function openGateAt(
  services: GateServices,
  place: AddressPlace,
  trustedProxies: readonly string[],
  limits: Partial<GateLimits> = {},
): Promise<Gate> {
  const begin = (server: Server) => listenAt(server, place);
  return opened(services, addressRoutes, begin, comesFrom(trustedProxies), limits);
}

async function opened(
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
    const route = routeAt(routes, address);
    if (isTrusted && hasBody(request) && route?.isStreamed !== true) endAfter(requestMs, request);
    if (address === pushAddress && routes !== addressRoutes) {
      void answerPush(services, room, request, response);
      return;
    }
    void serve(services, routes, request, response);
  });
  server.on('upgrade', (_request, socket, head) => {
    // The server listens on sockets only.
    if (!(socket instanceof Socket)) return;
    connections.upgraded(socket);
    services.worker.link.take(socket, head, services.unforeseen);
  });
  // Requests that came before a fault are answered before it.
  server.on('clientError', (error, socket) =>
    connections.whenAnswered(socket, () => rejectConnection(error, socket)),
  );
  const listening = await begin(server);
  // An error of accepting, such as no free descriptor, loses one connection and must not end the gate.
  server.on('error', services.unforeseen);
  return {
    makeRoom: () => connections.makeRoom(),
    close: () => connections.close(listening, drainMs),
  };
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

function routeAt(routes: ReadonlyMap<string, Route>, address: string): Route | undefined {
  return routes.get(address) ?? routes.get(/^\/v1\/[^/]+\//.exec(address)?.[0] ?? '');
}

function serve(
  services: GateServices,
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const fail = (error: unknown) => sendAnswer(request, response, faultReply(error, services.unforeseen));
  const address = requestAddress(request);
  const route = routeAt(routes, address);
  const answer = (body: Buffer | null): Reply | Promise<Reply> => {
    if (route === undefined) throw noRoute(routes, address);
    const { methods, shown = address, nested, handle } = route;
    if (!methods.includes(request.method ?? '')) {
      response.setHeader('Allow', methods.join(', '));
      throw new SoftquotaError('wrong_method', `${shown} takes ${methods.join(', ')}`);
    }
    return handle(services, parametersOf(request, body, nested), request);
  };
  if (route?.isStreamed && request.method !== 'PUT') request.resume();
  try {
    // A body is read to its end before anything is said, so that whoever sends it gets to hear the answer.
    const reply =
      hasBody(request) && route?.isStreamed !== true
        ? bodyOf(request, route?.mostBodyBytes).then(answer)
        : answer(null);
    // Answers that need not wait are sent at once: else those to many questions in one piece would pile up.
    if (reply instanceof Promise) reply.then(found => sendAnswer(request, response, found)).catch(fail);
    else sendAnswer(request, response, reply);
  } catch (error) {
    fail(error);
  }
}

function noRoute(routes: ReadonlyMap<string, Route>, address: string): SoftquotaError {
  if (routeAt(trustedRoutes, address) === undefined) {
    const message =
      'no such address; the addresses are /v1/check, /v1/push, /v1/changed, /v1/reservations, /v1/forward-auth, /healthz and /readyz';
    return new SoftquotaError('not_found', message);
  }
  const where =
    routes === openRoutes ? 'the trusted socket only ([server] TRUSTED_SOCKET)' : "the gate's sockets only";
  return new SoftquotaError('not_trusted', `${address} is served on ${where}`);
}

function healthReply({ reasons, notes }: Health): Reply {
  const status = reasons.length === 0 ? 200 : 503;
  const text = [...(status === 200 ? ['ok'] : reasons), ...notes].map(line => `${line}\n`).join('');
  return replyWith(status, { status: status === 200 ? 'ok' : 'not ready', reasons, notes }, text);
}
