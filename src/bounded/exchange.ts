/**
 * Questions and answers between the daemon and the git user's worker: lines of JSON over one connection.
 *
 * Each line has one field that says its kind. Either side asks with `task`, takes a question back with
 * `cancel`, and is answered with `result` or `fault`. `refused` tells why the other side ends the connection;
 * any other line is a message. When the connection ends, open questions fail, and work on questions of the
 * other side is stopped.
 */

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { messageOf, SoftquotaError } from '../errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

interface ExchangeOptions {
  /** The other side in words, such as `the worker`. */
  readonly other: string;
  /** The longest lines that are received and sent, in bytes. */
  readonly mostTaken: number;
  readonly mostSent: number;
}

export interface ExchangeHandlers {
  /**
   * Answers a question; rejects with the reason. The signal fires when nobody waits for the answer any more.
   * Absent: this side takes no questions.
   */
  answer?(question: Fields, signal: AbortSignal): Promise<object>;
  /** Takes a message. If it throws, the connection ends with that reason. */
  take(message: Fields): void;
  ended(): void;
}

/** Bytes that may wait for the other side to read them; with more the connection is ended. */
const mostUnsent = 4 * 1024 * 1024;
/** Silence that ends a connection. The worker reports every five seconds; the daemon answers each report. */
const silentMs = 30_000;
const mostAsked = 1000;
const longestFault = 2000;
const lineFeed = 0x0a;

export class Exchange {
  readonly #socket: Socket;
  readonly #options: ExchangeOptions;
  readonly #asked = new Map<string, PromiseWithResolvers<Fields>>();
  readonly #doing = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();

  constructor(socket: Socket, options: ExchangeOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  /** Begins to read. `head`: bytes that were received before. */
  serve(handlers: ExchangeHandlers, head: Buffer): void {
    const socket = this.#socket;
    const { other, mostTaken } = this.#options;
    socket.setTimeout(silentMs, () => socket.destroy());
    // An error needs no handling of its own: `close` follows.
    socket.on('error', () => {}).on('end', () => socket.destroySoon());
    socket.once('close', () => {
      this.#end(`${other} has stopped`);
      handlers.ended();
    });
    let pieces: Buffer[] = [];
    let length = 0;
    // Text after the last line feed is no line.
    const read = (chunk: Buffer): void => {
      for (let start = 0; start < chunk.length; ) {
        const end = chunk.indexOf(lineFeed, start);
        const piece = chunk.subarray(start, end === -1 ? chunk.length : end);
        length += piece.length;
        if (length > mostTaken) {
          socket.off('data', read);
          this.close(`a line has more than ${mostTaken} bytes`);
          return;
        }
        pieces.push(piece);
        if (end === -1) return;
        this.#takeLine(Buffer.concat(pieces), handlers);
        pieces = [];
        length = 0;
        start = end + 1;
      }
    };
    socket.on('data', read);
    if (head.length > 0) socket.unshift(head);
    socket.resume();
  }

  /** Returns false if the connection has ended, or the message is too long for the other side. */
  send(message: object): boolean {
    const line = `${JSON.stringify(message)}\n`;
    if (!this.#socket.writable || Buffer.byteLength(line) > this.#options.mostSent) return false;
    this.#socket.write(line);
    if (this.#socket.writableLength > mostUnsent) this.#socket.destroy();
    return true;
  }

  /**
   * Asks the other side. Rejects with `not_ready` if no answer comes in time, too many questions are open,
   * the signal fires, or the connection ends. The other side then stops its work on the question.
   */
  async ask(question: object, answerMs: number, signal?: AbortSignal): Promise<Fields> {
    const { other } = this.#options;
    if (this.#asked.size >= mostAsked) throw notReady(`${other} has too much to do; ask again later`);
    if (signal?.aborted === true) throw notReady('nobody waits for it any more');
    const id = randomBytes(12).toString('hex');
    const asked = Promise.withResolvers<Fields>();
    const cancel = (why: string): void => {
      this.send({ cancel: id });
      asked.reject(notReady(why));
    };
    const gone = (): void => cancel('nobody waits for it any more');
    const timer = setTimeout(() => cancel(`${other} did not answer in time`), answerMs).unref();
    signal?.addEventListener('abort', gone, { once: true });
    this.#asked.set(id, asked);
    if (!this.send({ task: { id, ...question } })) asked.reject(notReady(`${other} cannot be asked`));
    try {
      return await asked.promise;
    } finally {
      this.#asked.delete(id);
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
    }
  }

  /** Ends the connection and tells the other side why. Open questions fail with `asked`. */
  close(why: string, asked = why): void {
    this.send({ refused: why });
    this.#end(asked);
    this.#socket.destroySoon();
  }

  /** Resolves once nothing runs for the other side. */
  async idle(): Promise<void> {
    await Promise.all([...this.#doing.values()].map(({ done }) => done));
  }

  #takeLine(line: Buffer, handlers: ExchangeHandlers): void {
    try {
      this.#take(fieldsIn(line), handlers);
    } catch (error) {
      this.close(`${this.#options.other} is of another version: ${messageOf(error)}`);
    }
  }

  #take(message: Fields, handlers: ExchangeHandlers): void {
    const { task, cancel, result, fault } = message;
    if (task !== undefined) this.#begin(asFields(task, 'task'), handlers);
    else if (cancel !== undefined) this.#doing.get(String(cancel))?.stop.abort();
    else if (result !== undefined) {
      const { id, value } = asFields(result, 'result');
      const answer = asFields(value, 'result.value');
      this.#asked.get(String(id))?.resolve(answer);
    } else if (fault !== undefined) {
      const { id, why } = asFields(fault, 'fault');
      this.#asked.get(String(id))?.reject(notReady(String(why).slice(0, longestFault)));
    } else handlers.take(message);
  }

  #begin(task: Fields, handlers: ExchangeHandlers): void {
    const id = String(task.id);
    const stop = new AbortController();
    const done = this.#do(id, task, handlers, stop.signal).finally(() => this.#doing.delete(id));
    this.#doing.set(id, { stop, done });
  }

  async #do(id: string, task: Fields, handlers: ExchangeHandlers, signal: AbortSignal): Promise<void> {
    try {
      if (handlers.answer === undefined) throw notReady('no questions are taken here');
      const value = await handlers.answer(task, signal);
      if (!signal.aborted && !this.send({ result: { id, value } }))
        this.send({ fault: { id, why: 'the answer is too long' } });
    } catch (error) {
      if (!signal.aborted) this.send({ fault: { id, why: messageOf(error).slice(0, longestFault) } });
    }
  }

  #end(why: string): void {
    for (const { reject } of this.#asked.values()) reject(notReady(why));
    for (const { stop } of this.#doing.values()) stop.abort();
  }
}

function fieldsIn(line: Buffer): Fields {
  let json: unknown;
  try {
    json = JSON.parse(line.toString());
  } catch {
    throw new SoftquotaError('bad_parameter', 'a line that is not JSON');
  }
  return asFields(json, 'a line');
}

function asFields(value: unknown, name: string): Fields {
  if (typeof value === 'object' && value !== null) return { ...value };
  throw new SoftquotaError('bad_parameter', `${name} is not as expected`);
}

function notReady(why: string): SoftquotaError {
  return new SoftquotaError('not_ready', why);
}
