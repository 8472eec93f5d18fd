/**
 * `GET /v1/worker` with `Upgrade: softquota-worker`: the open connection of the git user's worker, on which
 * both sides write lines of JSON. Where GARBAGE = forgive, decisions depend on what it says, so only the
 * trusted socket takes it.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { takeLines } from '../bounded/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import type { Reply } from './answer.ts';
import { requestAddress } from './request.ts';
import type { GateServices, WorkerChannel, WorkerPeer } from './services.ts';
import { workerMessage } from './worker-messages.ts';

export const workerAddress = '/v1/worker';

const protocol = 'softquota-worker';
const longestLine = 1024 * 1024;
/** A worker that does not read is given up. */
const mostUnsent = 4 * 1024 * 1024;
/** It reports every five seconds. */
const silentMs = 30_000;

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
  socket.setTimeout(silentMs, () => socket.destroy());
  // The end of the connection tells all.
  socket.on('error', () => {}).on('end', () => socket.destroySoon());
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
  const channel: WorkerChannel = {
    send: message => {
      if (!socket.writable) return;
      socket.write(`${JSON.stringify(message)}\n`);
      if (socket.writableLength > mostUnsent) socket.destroy();
    },
    close: why => {
      channel.send({ refused: why });
      socket.destroySoon();
    },
  };
  const peer = services.worker.connected(channel);
  socket.once('close', () => peer.closed());
  takeLines(socket, {
    mostBytes: longestLine,
    take: line => {
      try {
        take(peer, channel, line.toString());
      } catch (error) {
        if (!(error instanceof SoftquotaError)) services.unforeseen(error);
        channel.close(`the worker is of another version than the daemon: ${messageOf(error)}`);
      }
    },
    tooLong: () => channel.close(`a line has more than ${longestLine} bytes`),
  });
  if (head.length > 0) socket.unshift(head);
  socket.resume();
}

function take(peer: WorkerPeer, channel: WorkerChannel, line: string): void {
  const message = workerMessage(line);
  switch (message.is) {
    case 'report':
      peer.reported(message.state);
      return;
    case 'result':
      peer.ended(message.id, { is: 'done', result: message.value });
      return;
    case 'fault':
      peer.ended(message.id, { is: 'fault', why: message.why });
      return;
    case 'lfs': {
      const { id, path } = message;
      peer.lfsObjects(path).then(
        objects => channel.send({ answer: { id, objects } }),
        error => channel.send({ answer: { id, fault: messageOf(error) } }),
      );
    }
  }
}
