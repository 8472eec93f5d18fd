/**
 * A gate as the hooks see it: a real HTTP server on a Unix socket that answers what a test tells it to, and
 * remembers what it was asked.
 */

import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  /** Parameters of a query or a form, or the fields of `/v1/push`. */
  readonly parameters: URLSearchParams;
  /** git's lines, of `/v1/push`. */
  readonly lines: string;
  readonly raw: Buffer;
}

/** Answer of the gate: one of those below, or whatever a test does with the response. */
export type Answer = (response: ServerResponse, question: Question) => void;

export const allowed: Answer = response => decide(response, 200, 'allowed', '');

export function warned(text: string | Buffer): Answer {
  return response => decide(response, 200, 'allowed', text);
}

export function refused(text: string | Buffer): Answer {
  return response => decide(response, 413, 'refused', text);
}

/** In one piece, as the daemon does. */
function decide(response: ServerResponse, status: number, decision: string, text: string | Buffer): void {
  response.writeHead(status, {
    'X-Softquota-Decision': decision,
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

/** The daemon still looks at the push. */
export const judging: Answer = plain(202);

/** Takes the question and says nothing until the gate is closed. */
export const silent: Answer = () => {};

export class Gate {
  readonly socket: string;
  answer: Answer = allowed;
  /** Answer to reports: /v1/changed, and /v1/push from post-receive. */
  taking: Answer = plain(202);
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

  /** Questions of /v1/push by this hook. */
  pushes(hook = 'pre-receive'): readonly Question[] {
    return this.questions.filter(
      ({ path, parameters }) => path === '/v1/push' && parameters.get('hook') === hook,
    );
  }

  /** Reports of /v1/changed. */
  get changes(): readonly Question[] {
    return this.questions.filter(question => question.path === '/v1/changed');
  }

  /** Resolves once so many reports have come since the gate was opened: hooks report without making the push wait. */
  async heard(times: number): Promise<void> {
    while (this.#heard < times) await once(this.#hearing, 'change');
  }

  #take: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const question = questionOf(
      request.method ?? '',
      request.url ?? '',
      Buffer.concat(chunks),
      request.headers.accept,
    );
    this.questions.push(question);
    if (question.path === '/v1/changed' || question.parameters.get('hook') === 'post-receive') {
      this.taking(response, question);
      this.#heard += 1;
      this.#hearing.emit('change');
    } else this.answer(response, question);
  };

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}

function questionOf(method: string, url: string, raw: Buffer, accept = ''): Question {
  const [path = '', query = ''] = url.split('?');
  const text = raw.toString();
  if (path !== '/v1/push')
    return { method, path, accept, parameters: new URLSearchParams(text || query), lines: '', raw };
  const end = text.indexOf('\0\0');
  const parameters = new URLSearchParams();
  for (const field of text.slice(0, end).split('\0')) {
    const at = field.indexOf('=');
    parameters.append(field.slice(0, at), field.slice(at + 1));
  }
  return { method, path, accept, parameters, lines: text.slice(end + 2), raw };
}
