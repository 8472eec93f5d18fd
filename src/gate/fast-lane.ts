/**
 * The fast lane: answers plain checks straight from the socket, for as long as a client sends nothing else.
 *
 * The first bytes in any other form, a request in pieces, a fault in a parameter, or a path that has to be
 * looked up hand the connection to `node:http` for good, with all bytes from that request on. So the lane has
 * nothing but whole requests, and each is answered at once.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from '../service/index.ts';
import { answerNow, headEnd, lastAnswerNow } from './plain-request.ts';
import { type AnsweredRequest, PreparedAnswers } from './prepared-answers.ts';
import { OverdueError, rejectClient } from './rejecting.ts';
import type { GateServices } from './services.ts';

export interface FastLaneOptions {
  readonly server: Server;
  /** Has `node:http` take a connection. */
  readonly giveToHttp: (socket: Socket) => void;
  readonly connections: Connections;
  readonly services: GateServices;
  /** For the first bytes of a connection to come. */
  readonly headersMs: number;
  /** Between two requests, and for an answer to be read. */
  readonly idleMs: number;
  readonly checkEveryMs: number;
}

const none = Buffer.alloc(0);

/** Answers to requests that came together are written together, up to about so many bytes. */
const mostTogether = 16 * 1024;

interface LaneConnection {
  readonly socket: Socket;
  /** When the last bytes came, or the client had read what it had to read first. */
  since: number;
  hasAsked: boolean;
  /** Requests wait until the client reads its answers. */
  isWaiting: boolean;
  /** The client sends nothing more. */
  isDone: boolean;
  /** Answers that are sent once the other connections have been read. */
  unsent: Buffer | null;
  readonly onData: (bytes: Buffer) => void;
  readonly onEnd: () => void;
}

/** Takes the connections of a server away from `node:http`; returns what has it take one after all. */
export function takeConnections(server: Server): (socket: Socket) => void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  return socket => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
}

export class FastLane {
  readonly #options: FastLaneOptions;
  readonly #open = new Map<Socket, LaneConnection>();
  readonly #prepared: PreparedAnswers;
  /** The connections with answers that are not sent yet. */
  #unsent: LaneConnection[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Takes each connection of the server, whose listeners have been taken off it. */
  constructor(options: FastLaneOptions) {
    const { server, headersMs, idleMs, checkEveryMs } = options;
    this.#options = options;
    this.#prepared = new PreparedAnswers(options.services, headEnd(Math.floor(idleMs / 1000)));
    // Before one that is too many makes another one end.
    server.prependListener('connection', () => this.#sendAll());
    server.on('connection', socket => this.#opened(socket));
    const everyMs = Math.min(checkEveryMs, headersMs, idleMs);
    server.on('listening', () => {
      clearInterval(this.#timer);
      this.#timer = setInterval(() => this.#endOverdue(), everyMs).unref();
    });
  }

  /** Ends the connections whose requests are answered; a connection that never asked may still do so. */
  closeIdle(): void {
    clearInterval(this.#timer);
    this.#sendAll();
    for (const { socket, hasAsked, isWaiting } of this.#open.values()) {
      if (hasAsked && !isWaiting) socket.destroySoon();
    }
  }

  /** Ends all connections of the lane. */
  closeAll(): void {
    this.#sendAll();
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #opened(socket: Socket): void {
    const connection: LaneConnection = {
      socket,
      since: performance.now(),
      hasAsked: false,
      isWaiting: false,
      isDone: false,
      unsent: null,
      onData: bytes => this.#read(connection, bytes),
      onEnd: () => {
        connection.isDone = true;
        this.#endIfDone(connection);
      },
    };
    this.#open.set(socket, connection);
    socket.on('data', connection.onData).on('end', connection.onEnd).on('error', ignore);
    socket.once('close', () => this.#open.delete(socket));
  }

  #read(connection: LaneConnection, bytes: Buffer): void {
    const { socket } = connection;
    const text = bytes.toString('latin1');
    let answers = connection.unsent;
    let at = 0;
    connection.unsent = null;
    connection.since = performance.now();
    while (at < text.length) {
      const answered = this.#answerAt(text, at);
      if (answered === null) {
        if (answers !== null) socket.write(answers);
        this.#handOver(connection, bytes.subarray(at));
        return;
      }
      connection.hasAsked = true;
      const isLast = !answered.keepsAlive || this.#options.connections.isDraining;
      const answer = isLast ? lastAnswerNow(answered.answer) : answerNow(answered.answer);
      answers = answers === null ? answer : Buffer.concat([answers, answer]);
      at += answered.length;
      if (isLast) {
        socket.off('data', connection.onData);
        // A tick later: Node makes an error with its stack where a stream ends within its own callback.
        socket.write(answers, () => process.nextTick(() => socket.destroy()));
        return;
      }
      if (answers.length < mostTogether || at === text.length) continue;
      if (!socket.write(answers)) {
        this.#waitUntilRead(connection, bytes.subarray(at));
        return;
      }
      answers = null;
    }
    if (answers !== null) this.#sendSoon(connection, answers);
    this.#options.connections.asked(socket);
  }

  /**
   * Each answer wakes a client. So all requests that have come are read first: one who asks over several
   * connections then finds several answers.
   */
  #sendSoon(connection: LaneConnection, answers: Buffer): void {
    connection.unsent = answers;
    if (this.#unsent.push(connection) === 1) setImmediate(() => this.#sendAll());
  }

  /** Sends the answers that were to be sent soon. */
  #sendAll(): void {
    const connections = this.#unsent;
    if (connections.length === 0) return;
    this.#unsent = [];
    for (const connection of connections) this.#send(connection);
  }

  #send(connection: LaneConnection): void {
    const { socket, unsent } = connection;
    if (unsent === null) return;
    connection.unsent = null;
    if (!socket.write(unsent)) this.#waitUntilRead(connection, none);
  }

  /** Null: `node:http` answers that. */
  #answerAt(text: string, start: number): AnsweredRequest | null {
    const { metrics } = this.#options.services;
    const since = metrics === null ? 0 : performance.now();
    try {
      const answered = this.#prepared.answerAt(text, start);
      if (answered !== null) metrics?.took(performance.now() - since);
      return answered;
    } catch {
      // It fails there as well, and has words.
      return null;
    }
  }

  /** Reads nothing more until the client has read its answers. */
  #waitUntilRead(connection: LaneConnection, rest: Buffer): void {
    const { socket } = connection;
    connection.isWaiting = true;
    socket.pause();
    socket.once('drain', () => {
      connection.isWaiting = false;
      socket.resume();
      this.#read(connection, rest);
      if (this.#open.has(socket)) this.#endIfDone(connection);
    });
  }

  /** Ends a connection on which all is asked and answered. */
  #endIfDone(connection: LaneConnection): void {
    const { socket, isDone, isWaiting } = connection;
    if (!isDone || isWaiting) return;
    this.#send(connection);
    socket.end();
  }

  #handOver({ socket, onData, onEnd }: LaneConnection, rest: Buffer): void {
    this.#open.delete(socket);
    socket.off('data', onData).off('end', onEnd).off('error', ignore);
    // Paused, so that what is put back is read first.
    socket.pause();
    socket.unshift(rest);
    this.#options.giveToHttp(socket);
    socket.resume();
  }

  #endOverdue(): void {
    const { headersMs, idleMs } = this.#options;
    const now = performance.now();
    for (const { socket, since, hasAsked } of this.#open.values()) {
      if (now - since > idleMs) socket.destroy();
      else if (!hasAsked && now - since > headersMs) rejectClient(new OverdueError(), socket);
    }
  }
}

/** Needs no answer: the client has gone away. */
function ignore(): void {}
