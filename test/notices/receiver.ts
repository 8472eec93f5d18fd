/** Receives webhooks over real HTTP, and does to them what the test says. */

import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';

export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly json: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: { [name: string]: unknown };
  };
}

export class Receiver {
  /** All that came, whatever the answer was. */
  readonly came: Received[] = [];
  /** Requests that were answered with 2xx. */
  readonly taken: Received[] = [];
  answer: (response: ServerResponse) => void = response => void response.writeHead(204).end();
  #server: Server | null = null;
  #port = 0;

  static async open(t: Test): Promise<Receiver> {
    const receiver = new Receiver();
    t.teardown(() => receiver.away());
    await receiver.back();
    return receiver;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook?key=hidden`;
  }

  /** The ids of what was taken. */
  get ids(): readonly string[] {
    return this.taken.map(({ id }) => id);
  }

  get types(): readonly string[] {
    return this.taken.map(({ json }) => json.type);
  }

  /** Nobody listens any more. */
  async away(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }

  async back(): Promise<void> {
    const server = createServer(async (request, response) => {
      const body = await text(request).catch(() => '');
      const id = String(request.headers['webhook-id']);
      const received = { id, headers: request.headers, body, json: JSON.parse(body || '{}') };
      this.came.push(received);
      this.answer(response);
      if (response.statusCode < 300) this.taken.push(received);
    });
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve));
    // A server that listens on an address has one.
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }
}

/** The signature as openssl makes it. */
export function opensslSignature({ headers, body }: Received, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64').toString('hex');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const args = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-binary'];
  return `v1,${execFileSync('openssl', args, { input: signed }).toString('base64')}`;
}
