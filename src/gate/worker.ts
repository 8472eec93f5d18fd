/**
 * `GET /v1/worker` with `Upgrade: softquota-worker`: the open connection of the git user's worker, on which
 * both sides write lines of JSON. Where GARBAGE = forgive, decisions depend on what it says, so only the
 * trusted socket takes it.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { Exchange, type ExchangeHandlers, type Fields } from '../bounded/index.ts';
import { SoftquotaError } from '../errors.ts';
import { lfsQuestion, workerReport } from '../wire/index.ts';
import type { Reply } from './answer.ts';
import { requestAddress } from './request.ts';
import type { GateServices } from './services.ts';

export const workerAddress = '/v1/worker';

const protocol = 'softquota-worker';
const longestLine = 1024 * 1024;
/** A task has the lines of a push. */
const longestSent = 4 * 1024 * 1024;
const reported = z.object({ report: workerReport });

export function asksForWorker(request: IncomingMessage): boolean {
  return (
    request.method === 'GET' &&
    requestAddress(request) === workerAddress &&
    request.headers.upgrade === protocol
  );
}

/** The answer to a worker that does not ask for an open connection. */
export function noUpgrade(): Reply {
  throw new SoftquotaError(
    'bad_parameter',
    `a worker connects with "Upgrade: ${protocol}"; this one is of another version than the daemon`,
  );
}

/** Takes a connection over until it ends. `head` is what has come behind the request. */
export function serveWorker(services: GateServices, socket: Socket, head: Buffer): void {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
  const channel = new Exchange(socket, {
    other: 'the worker',
    mostTaken: longestLine,
    mostSent: longestSent,
  });
  const peer = services.worker.connected(channel);
  const handlers: ExchangeHandlers = {
    answer: async question => ({ objects: await peer.lfsObjects(parsed(lfsQuestion, question).path) }),
    take: message => {
      const { report } = parsed(reported, message);
      try {
        peer.reported(report);
      } catch (error) {
        services.unforeseen(error);
        throw error;
      }
    },
    ended: () => peer.closed(),
  };
  channel.serve(handlers, head);
}

function parsed<Output>(schema: z.ZodType<Output>, given: Fields): Output {
  const found = schema.safeParse(given);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw new SoftquotaError('bad_parameter', `${issue?.path.join('.')}: ${issue?.message}`);
}
