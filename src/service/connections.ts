/**
 * Bounds the connections of a server. If there are too many, it closes the one that has been without a
 * complete request for longest.
 *
 * So a client that connects and asks at once is answered, even if many others only hold connections, or send
 * their bodies slowly.
 */

import { closeSync, openSync, readFileSync } from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { errorCatalog, systemCode } from '../errors.ts';
import type { Listening } from './listen.ts';

/** The queue is empty if no connection was accepted for this time. */
const quietMs = 20;

export interface ConnectionLimits {
  readonly most: number;
  /** Bound for each peer, and the name of the peer; null: unbounded, such as a proxy. */
  readonly ofOne?: { readonly most: number; readonly peerOf: (socket: Socket) => string | null };
}

export class Connections {
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  /**
   * Number of complete requests under way on each connection. Of those with none, the one whose last request
   * is oldest comes first.
   */
  readonly #requests = new Map<Duplex, number>();
  readonly #upgraded = new Set<Socket>();
  /** Called for each connection when its requests are answered. */
  readonly #after = new WeakMap<Duplex, () => void>();
  /** Connections by their peer, except those without one. */
  readonly #ofPeers = new Map<string, Set<Duplex>>();
  #accepted = 0;
  #draining = false;

  constructor(server: Server, limits: ConnectionLimits) {
    this.#server = server;
    this.#limits = limits;
    server.on('connection', socket => this.#opened(socket));
    server.on('request', (request, response) => this.#asked(request, response));
  }

  /**
   * Closes the server, but answers all clients that have connected; requests under way have `drainMs`
   * milliseconds to end.
   *
   * Connections wait in the system's queue until they are accepted. A listening socket that closes resets all
   * of them, and their clients would take that for a crash.
   */
  async close(listening: Listening, drainMs: number): Promise<void> {
    const end = performance.now() + drainMs;
    // From now on each connection is closed after its pending answers.
    this.#draining = true;
    for (const socket of this.#upgraded) socket.destroySoon();
    if (listening.withdraw()) {
      let before: number;
      do {
        before = this.#accepted;
        await sleep(quietMs);
        // If the event loop was blocked, it runs the late timer before it accepts connections.
        await nextTurn();
      } while (this.#accepted !== before && performance.now() < end);
    }
    const closed = new Promise(resolve => this.#server.close(resolve));
    const overdue = setTimeout(
      () => this.#server.closeAllConnections(),
      Math.max(0, end - performance.now()),
    );
    await closed;
    clearTimeout(overdue);
  }

  /** Records a change of protocol: the connection counts, makes no room, and ends when the server does. */
  upgraded(socket: Socket): void {
    this.#requests.delete(socket);
    if (this.#draining) socket.destroy();
    else this.#upgraded.add(socket);
  }

  whenAnswered(socket: Duplex, then: () => void): void {
    this.#after.set(socket, then);
    this.#doAfter(socket);
  }

  /** Closes a quarter of the connections without a request, also those that never had one. */
  makeRoom(): void {
    const idle = [...this.#requests].filter(([, count]) => count === 0);
    for (const [socket] of idle.slice(0, Math.ceil(idle.length / 4))) this.#end(socket);
  }

  #opened(socket: Socket): void {
    this.#accepted += 1;
    this.#requests.set(socket, 0);
    const peer = this.#limits.ofOne?.peerOf(socket) ?? null;
    const own = (peer === null ? undefined : this.#ofPeers.get(peer)) ?? new Set<Duplex>();
    if (peer !== null) this.#ofPeers.set(peer, own.add(socket));
    socket.once('close', () => {
      this.#requests.delete(socket);
      this.#upgraded.delete(socket);
      own.delete(socket);
      if (peer !== null && own.size === 0) this.#ofPeers.delete(peer);
    });
    if (own.size > (this.#limits.ofOne?.most ?? 0)) this.#endLongest(own);
    else if (this.#requests.size + this.#upgraded.size > this.#limits.most) this.#endLongest();
  }

  /** Closes the one that has been without a request for longest, of these or of all. */
  #endLongest(among?: ReadonlySet<Duplex>): void {
    for (const [socket, count] of this.#requests) {
      if (count > 0 || among?.has(socket) === false) continue;
      this.#end(socket);
      return;
    }
  }

  #asked(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    let isWhole = false;
    const begin = () => {
      if (socket.destroyed) return;
      isWhole = true;
      this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
    };
    if (hasBody(request)) {
      this.#moveLast(socket, this.#requests.get(socket) ?? 0);
      request.once('end', begin);
    } else begin();
    response.once('close', () => {
      request.off('end', begin);
      if (isWhole) this.#answered(socket);
      else if (this.#draining) socket.destroySoon();
    });
    if (this.#draining) response.shouldKeepAlive = false;
  }

  #answered(socket: Socket): void {
    if (socket.destroyed) return;
    const left = (this.#requests.get(socket) ?? 1) - 1;
    if (left > 0) {
      this.#requests.set(socket, left);
      return;
    }
    this.#moveLast(socket, 0);
    if (this.#after.has(socket)) this.#doAfter(socket);
    else if (this.#draining) socket.destroySoon();
  }

  #moveLast(socket: Socket, count: number): void {
    this.#requests.delete(socket);
    this.#requests.set(socket, count);
  }

  /** Waits a turn of the event loop, since the end of a body is reported only then. */
  #doAfter(socket: Duplex): void {
    setImmediate(() => {
      if ((this.#requests.get(socket) ?? 0) === 0) this.#after.get(socket)?.();
    });
  }

  #end(socket: Duplex): void {
    this.#requests.delete(socket);
    socket.destroy();
  }
}

export type Rejection = 'malformed' | 'request_timeout' | 'headers_too_large';

const rejections: Readonly<Record<string, Rejection>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};

/** Answers with an error, and closes the connection. Never uses 413, which means a refusal of the gate. */
export function rejectConnection(
  error: Error,
  socket: Duplex,
  bodyOf: (code: Rejection) => string = () => '',
): void {
  if (socket.writable) {
    const code = rejections[systemCode(error) ?? ''] ?? 'malformed';
    const { status } = errorCatalog[code];
    const body = bodyOf(code);
    const type = body === '' ? '' : 'Content-Type: application/json; charset=utf-8\r\n';
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${type}` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  socket.destroy();
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Makes a test for connections from this host itself, or from these addresses and networks. */
export function comesFrom(networks: readonly string[]): (socket: Socket) => boolean {
  const known = new BlockList();
  for (const network of ['127.0.0.0/8', '::1', ...networks]) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) known.addAddress(address, family);
    else known.addSubnet(address, Number(bits), family);
  }
  return ({ remoteAddress: address }) =>
    address !== undefined && known.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * Most connections of each server. Each connection needs a descriptor; if none is left, the system closes new
 * connections silently. So the descriptors are divided, and no server takes those of another.
 */
export interface ConnectionShares {
  readonly gate: number;
  readonly trusted: number;
  readonly http: number;
  readonly admin: number;
}

/** Bounds if there are enough descriptors. */
export const usualShares: ConnectionShares = { gate: 4096, trusted: 1024, http: 2048, admin: 256 };

/** Descriptors for files, threads, programs that are run, and the store that hosts share. */
const ownDescriptors = 256;

/** Number of descriptors from which every server gets its usual share. */
export const enoughDescriptors =
  ownDescriptors + usualShares.gate + usualShares.trusted + usualShares.http + usualShares.admin;

/** Least connections of a server. If even these are too many, `watchDescriptors` notices it. */
const leastShare = 4;

export function openFilesLimit(file = '/proc/self/limits'): number | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return null;
  }
  const line = text.split('\n').find(each => each.startsWith('Max open files'));
  const limit = Number(line?.slice('Max open files'.length).trim().split(' ', 1)[0]);
  return Number.isSafeInteger(limit) ? limit : null;
}

/** Divides so many descriptors among the servers; null: there are enough. */
export function connectionShares(limit: number | null): ConnectionShares {
  if (limit === null || limit >= enoughDescriptors) return usualShares;
  const free = limit - Math.min(ownDescriptors, limit / 2);
  const part = free / (enoughDescriptors - ownDescriptors);
  const of = (usual: number) => Math.max(leastShare, Math.floor(usual * part));
  const { gate, trusted, http, admin } = usualShares;
  return { gate: of(gate), trusted: of(trusted), http: of(http), admin: of(admin) };
}

interface DescriptorWatchOptions {
  /** Called with the system's code when no file can be opened, at most once a minute while that lasts. */
  readonly exhausted: (code: string) => void;
  /** Called each second while no file can be opened. */
  readonly makeRoom: () => void;
  readonly everyMs?: number;
}

const usualEveryMs = 1000;
const tellEveryMs = 60_000;

/** Tests if files can be opened: the system does not report connections that it could not accept. */
export function watchDescriptors({
  exhausted,
  makeRoom,
  everyMs = usualEveryMs,
}: DescriptorWatchOptions): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  const look = () => {
    const code = probe();
    if (code === null) return;
    makeRoom();
    if (performance.now() - toldAt < tellEveryMs) return;
    toldAt = performance.now();
    exhausted(code);
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}

function probe(): string | null {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return null;
  } catch (error) {
    const code = systemCode(error);
    return code === 'EMFILE' || code === 'ENFILE' ? code : null;
  }
}
