/**
 * A gate as the hooks see it: a real HTTP server on a Unix socket that answers what a test
 * tells it to, and remembers what it was asked.
 */

import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  /** Of the query and of a form; bytes that are not UTF-8 stay percent-encoded in `raw`. */
  readonly parameters: URLSearchParams;
  readonly raw: string;
}

/** What the gate says: one of the answers below, or whatever a test does with the response. */
export type Answer = (response: ServerResponse, question: Question) => void;

export const allowed: Answer = response => decide(response, 200, 'allowed', '');

export function warned(text: string | Buffer): Answer {
  return response => decide(response, 200, 'allowed', text);
}

/** `judge`: how the hook may judge it, as the daemon says. */
export function refused(text: string | Buffer, judge: 'any' | 'less' | null = null): Answer {
  const headers = judge === null ? {} : { 'X-Softquota-Judge': judge };
  return response => decide(response, 413, 'refused', text, headers);
}

/** In one piece, as the daemon does. */
function decide(
  response: ServerResponse,
  status: number,
  decision: string,
  text: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'X-Softquota-Decision': decision,
    ...headers,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** A status and headers without a decision, unless the headers hold one. */
export function plain(status: number, text = '', headers: Readonly<Record<string, string>> = {}): Answer {
  return response => {
    response.writeHead(status, { 'Content-Length': Buffer.byteLength(text), ...headers }).end(text);
  };
}

/** Takes the question and says nothing until the gate is closed. */
export const silent: Answer = () => {};

export class Gate {
  readonly socket: string;
  answer: Answer = allowed;
  /** What /v1/changed is answered with. */
  taking: Answer = response => response.writeHead(202, { 'Content-Length': 0 }).end();
  /** What /v1/offline-decisions is answered with. */
  takes = 202;
  readonly questions: Question[] = [];
  readonly #hearing = new EventEmitter();
  #heard = 0;
  readonly #server = createServer((...args) => this.#take(...args));

  private constructor(socket: string) {
    this.socket = socket;
  }

  static async open(socket: string): Promise<Gate> {
    const gate = new Gate(socket);
    await new Promise<void>((resolve, reject) => {
      gate.#server.once('error', reject).listen(socket, resolve);
    });
    return gate;
  }

  /** Questions of /v1/check. */
  get checks(): readonly Question[] {
    return this.questions.filter(question => question.path === '/v1/check');
  }

  /**
   * Resolves once /v1/changed has been called so often since the gate was opened: the hook tells it
   * without making the push wait.
   */
  async heard(times: number): Promise<void> {
    while (this.#heard < times) await once(this.#hearing, 'change');
  }

  /** Resolves with the lines that hooks decided by themselves, once so many of their records have come. */
  async told(times: number): Promise<readonly string[]> {
    const records = () => this.questions.filter(question => question.path === '/v1/offline-decisions');
    while (records().length < times) await once(this.#hearing, 'record');
    return records().flatMap(({ parameters }) => (parameters.get('lines') ?? '').split('\n').slice(0, -1));
  }

  /** Reports of /v1/changed. */
  get changes(): readonly Question[] {
    return this.questions.filter(question => question.path === '/v1/changed');
  }

  #take: RequestListener = async (request, response) => {
    let raw = '';
    for await (const chunk of request.setEncoding('utf8')) raw += chunk;
    const [path = '', query = ''] = (request.url ?? '').split('?');
    raw ||= query;
    const question: Question = {
      method: request.method ?? '',
      path,
      accept: request.headers.accept ?? '',
      parameters: new URLSearchParams(raw),
      raw,
    };
    this.questions.push(question);
    if (path === '/v1/changed') {
      this.taking(response, question);
      this.#heard += 1;
      this.#hearing.emit('change');
    } else if (path === '/v1/offline-decisions') {
      response.writeHead(this.takes).end();
      this.#hearing.emit('record');
    } else this.answer(response, question);
  };

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}
