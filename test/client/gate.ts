/** A client, and a gate that answers it what a test says, and counts its connections. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { type ClientOptions, createClient, type QuotaUnavailableError } from '../../src/client/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
}

export class GateStub {
  readonly socket: string;
  readonly heard: Heard[] = [];
  connections = 0;
  /** Writes the answer to each request. */
  answer: (response: ServerResponse, heard: Heard, request: IncomingMessage) => void;
  #server = createServer((request, response) => void this.#take(request, response));

  private constructor(socket: string) {
    this.socket = socket;
    this.answer = decision(true);
  }

  static async open(t: Test): Promise<GateStub> {
    const gate = new GateStub(join(temporaryFolder(t), 'gate.sock'));
    t.teardown(() => gate.close());
    await gate.listen();
    return gate;
  }

  /** Listens; a server that was closed is replaced. */
  async listen(): Promise<void> {
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on('connection', () => {
      this.connections += 1;
    });
    await once(this.#server.listen(this.socket), 'listening');
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const form = await text(request);
    const parameters = Object.fromEntries(new URLSearchParams(form === '' ? query : form));
    const heard = { method: request.method ?? '', path, parameters };
    this.heard.push(heard);
    this.answer(response, heard, request);
  }
}

/** A decision as the gate writes it. */
export function decision(allowed: boolean, fields: object = {}): GateStub['answer'] {
  return (response, { parameters }) => {
    response.writeHead(allowed ? 200 : 413, { 'X-Softquota-Decision': allowed ? 'allowed' : 'refused' });
    const { owner, subject } = parameters;
    const message = allowed ? 'alice uses 1 MB of 2 MB.' : 'Quota exceeded: alice uses 3 MB of 2 MB (150 %).';
    response.end(JSON.stringify({ owner, subject, used: 1, limit: 2, message, warning: null, ...fields }));
  };
}

export function plain(status: number, json: unknown): GateStub['answer'] {
  return response => response.writeHead(status).end(JSON.stringify(json));
}

export async function open(t: Test, options: ClientOptions = {}) {
  const gate = await GateStub.open(t);
  const faults: QuotaUnavailableError[] = [];
  const client = createClient({
    socket: gate.socket,
    timeoutMs: 30_000,
    onUnavailable: fault => faults.push(fault),
    ...options,
  });
  t.teardown(() => client.close());
  return { gate, client, faults };
}

export const packages = 'size:assets:packages:all';
export const question = { owner: 'jürgen & co', subject: packages, size: 1000, actor: 'bob' } as const;
