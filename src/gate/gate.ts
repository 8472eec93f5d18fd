/**
 * The gate: HTTP over Unix sockets for hooks and upload handlers, and over TCP for reverse proxies.
 *
 * With plain ssh, every pusher can connect to the hooks' socket and may try to exhaust the daemon. So
 * headers, bodies, slow requests and idle connections are limited, and idle connections are closed when there
 * are too many.
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
import { answerCheck, ownerQuota, usage } from './check.ts';
import { answerForwardAuth, isForwardAuth } from './forward-auth.ts';
import { answerLfsBatch, answerObjects, isLfsBatch, longestObjectsBytes } from './lfs.ts';
import { answerPush, pushAddress } from './push/request.ts';
import { longestSetMs, reportRoutes, trustedReportRoutes } from './reports.ts';
import { BodyRoom, faultReply, parametersOf, type Reply, replyWith, requestAddress } from './request.ts';
import type { GateRoute, GateServices, Health } from './services.ts';
import { asksForWorker, noUpgrade, workerAddress } from './worker.ts';

const asking = ['GET', 'HEAD', 'POST'];

const healthz: GateRoute = {
  methods: ['GET', 'HEAD'],
  handle: () => healthReply({ reasons: [], notes: [] }),
};

const check: GateRoute = {
  methods: asking,
  handle: (services, parameters) =>
    parameters.has('objects') ? answerObjects(services, parameters) : answerCheck(services, parameters),
  mostBodyBytes: longestObjectsBytes,
};

/** Routes by address; an address with a final slash stands for everything below it. */
const openRoutes: ReadonlyMap<string, GateRoute> = new Map<string, GateRoute>([
  ['/v1/check', check],
  ['/v1/quota', { methods: ['GET', 'HEAD'], handle: ownerQuota }],
  ...reportRoutes,
  ['/healthz', healthz],
  ['/readyz', { methods: ['GET', 'HEAD'], handle: services => healthReply(services.health()) }],
]);

/** Routes at a TCP address, besides those for proxies. */
const addressRoutes: ReadonlyMap<string, GateRoute> = new Map([['/healthz', healthz]]);

const trustedRoutes: ReadonlyMap<string, GateRoute> = new Map<string, GateRoute>([
  ...openRoutes,
  ...trustedReportRoutes,
  ['/v1/usage', { methods: ['GET', 'HEAD'], handle: usage }],
  [workerAddress, { methods: ['GET', 'POST'], handle: noUpgrade }],
]);

/** Limits for clients; times are in milliseconds. */
interface GateLimits {
  readonly mostConnections: number;
  /** Time until the headers of a request are complete, from the connection or from its first byte. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** Time between two requests, and for the client to read an answer. */
  readonly idleMs: number;
  /** Time that running requests have to end when the gate closes. */
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

/**
 * Listens on a socket. A trusted gate also accepts reports of trusted programs. Rejects with `configuration`.
 */
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

/** Listens on a TCP address for this host and trusted proxies. Rejects with `configuration`. */
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
  routes: ReadonlyMap<string, GateRoute>,
  begin: (server: Server) => Promise<Listening>,
  mayAsk: (socket: Socket) => boolean,
  limits: Partial<GateLimits>,
): Promise<Gate> {
  const { mostConnections, headersMs, requestMs, idleMs, drainMs } = { ...usualLimits, ...limits };
  const isTrusted = routes === trustedRoutes;
  const server = createServer({
    maxHeaderSize: longestHeaderBytes,
    headersTimeout: headersMs,
    // Sets of a source may take longer; `endAfter` limits other bodies.
    requestTimeout: isTrusted ? Math.max(requestMs, longestSetMs) : requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: Math.min(checkEveryMs, headersMs),
    // An upgrade to another protocol is ignored in all other requests.
    shouldUpgradeCallback: request => isTrusted && asksForWorker(request),
  });
  server.maxRequestsPerSocket = 0;
  server.timeout = idleMs;
  // A client may close its sending side and still wait for the answer. Node supports this option, but its
  // types lack it.
  Object.assign(server, { httpAllowHalfOpen: true });
  const connections = new Connections(server, { most: mostConnections });
  const room = new BodyRoom();
  // An LFS server may be slow, and pushes must not wait for it.
  const batchRoom = new BodyRoom();
  server.on('request', (request, response) => {
    const address = requestAddress(request);
    if (!mayAsk(request.socket)) {
      refuseStranger(services, request, response);
      return;
    }
    const route = routeAt(routes, address);
    const isPush = address === pushAddress && routes !== addressRoutes;
    // Checks and pushes, which others wait for, pass none of this.
    if (route === undefined && !isPush) {
      if (isForwardAuth(address)) {
        void answerForwardAuth(services, request, response);
        return;
      }
      if (isLfsBatch(services, request, address)) {
        void answerLfsBatch(services, batchRoom, request, response);
        return;
      }
    }
    if (isTrusted && hasBody(request) && route?.isStreamed !== true) endAfter(requestMs, request);
    if (isPush) {
      void answerPush(services, room, request, response);
      return;
    }
    void serve(services, routes, room, request, response);
  });
  server.on('upgrade', (_request, socket, head) => {
    // Connections of this server are always sockets.
    if (!(socket instanceof Socket)) return;
    connections.upgraded(socket);
    services.worker.link.take(socket, head, services.unforeseen);
  });
  // Earlier requests of the connection are answered first.
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

/**
 * Refuses a request from an unknown address. The log says so, too: a proxy may hide the answer, and then
 * nobody would see why everything is refused.
 */
function refuseStranger(services: GateServices, request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const why = `${request.socket.remoteAddress} is not in [server] TRUSTED_PROXIES`;
  services.notUnderstood(why);
  sendAnswer(request, response, faultReply(new SoftquotaError('not_trusted', why), services.unforeseen));
}

/** Ends a request whose body is not complete in time. */
function endAfter(milliseconds: number, request: IncomingMessage): void {
  // Node uses this code for overdue requests.
  const error = Object.assign(new Error('it did not come whole'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  const overdue = setTimeout(() => rejectConnection(error, request.socket), milliseconds);
  request.once('close', () => clearTimeout(overdue));
}

function routeAt(routes: ReadonlyMap<string, GateRoute>, address: string): GateRoute | undefined {
  return routes.get(address) ?? routes.get(/^\/v1\/[^/]+\//.exec(address)?.[0] ?? '');
}

function serve(
  services: GateServices,
  routes: ReadonlyMap<string, GateRoute>,
  room: BodyRoom,
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
    // The whole body is read before the answer, because a client does not read while it sends.
    const reply =
      hasBody(request) && route?.isStreamed !== true
        ? room.read(request, route?.mostBodyBytes, answer)
        : answer(null);
    // Answers that are ready are sent at once: answers to many pipelined requests would pile up otherwise.
    if (reply instanceof Promise) reply.then(found => sendAnswer(request, response, found)).catch(fail);
    else sendAnswer(request, response, reply);
  } catch (error) {
    fail(error);
  }
}

/** Returns true if the client wants text for people. A program that accepts both gets JSON. */
function wantsText(accept = ''): boolean {
  return accept.includes('text/plain') && !accept.includes('application/json');
}

function sendAnswer(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.headersSent) return;
  if (reply.status === 204) {
    response.writeHead(204).end();
    return;
  }
  const text = wantsText(request.headers.accept);
  const body = text ? reply.text() : JSON.stringify(reply.json());
  const headers = [
    'Content-Type',
    text ? 'text/plain; charset=utf-8' : 'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
  ];
  if (reply.decision !== undefined) headers.push('X-Softquota-Decision', reply.decision);
  response.writeHead(reply.status, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

function noRoute(routes: ReadonlyMap<string, GateRoute>, address: string): SoftquotaError {
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
