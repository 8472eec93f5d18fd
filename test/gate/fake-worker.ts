/** A worker's connection to a trusted socket, whose messages a test writes and reads. */

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Test } from 'tap';
import type { WorkerLink } from '../../src/gate/index.ts';

type Message = Readonly<Record<string, unknown>>;

/** The report of a worker that has nothing to say. */
export const idleReport = {
  version: '1.0.0',
  hooks: null,
  quarantines: { removed: [], held: [] },
  repositories: [],
};

/** Takes the connections of workers at a socket, as the daemon does. */
export async function takeWorkers(t: Test, path: string, link: Pick<WorkerLink, 'take'>): Promise<void> {
  const server = createServer({ shouldUpgradeCallback: () => true });
  server.on('upgrade', (_, socket, head) => {
    if (socket instanceof Socket) link.take(socket, head, error => t.error(error));
  });
  await once(server.listen(path), 'listening');
  t.teardown(() => server.close());
}

export class FakeWorker {
  readonly socket: Socket;
  readonly #messages = new PassThrough({ objectMode: true });

  private constructor(socket: Socket, head: Buffer) {
    this.socket = socket;
    socket.on('error', () => {}).on('close', () => this.#messages.end());
    createInterface(socket).on('line', line => this.#messages.write(JSON.parse(line)));
    if (head.length > 0) socket.unshift(head);
  }

  static async connect(t: Test, socketPath: string): Promise<FakeWorker> {
    const headers = { Connection: 'Upgrade', Upgrade: 'softquota-worker' };
    const asked = request({ socketPath, path: '/v1/worker', headers, agent: false });
    asked.end();
    const [, socket, head] = await once(asked, 'upgrade');
    t.teardown(() => socket.destroy());
    return new FakeWorker(socket, head);
  }

  send(message: Message | string): void {
    this.socket.write(typeof message === 'string' ? message : `${JSON.stringify(message)}\n`);
  }

  report(differing: Message = {}): void {
    this.send({ report: { ...idleReport, ...differing } });
  }

  /** Resolves once the daemon has taken all that was sent before: it answers no question. */
  async taken(): Promise<void> {
    this.send({ task: { id: 'taken' } });
    await this.next('fault');
  }

  /** Resolves with the next message that has this field; null: the connection has ended. */
  async next(field: string): Promise<Message | null> {
    for await (const message of this.#messages.iterator({ destroyOnReturn: false }))
      if (field in message) return message;
    return null;
  }

  /** Resolves with the next task. */
  async task(): Promise<Message & { readonly id: string }> {
    const message = await this.next('task');
    const { task } = message ?? {};
    if (typeof task !== 'object' || task === null) throw new Error('the connection has ended');
    return { id: '', ...task };
  }
}
