/**
 * Asks a server over its socket as fast as it answers: on each of so many connections one question at a time.
 *
 * Bare sockets with ready-made requests, so that the asking takes less than the answering: of an answer only
 * the status and the end are looked at.
 */

import { createConnection, type Socket } from 'node:net';
import { median, percentile } from './figures.ts';
import { processorMs } from './processes.ts';

export interface Asking {
  readonly socket: string;
  /** The server's. */
  readonly pid: number;
  /** Addresses, asked for in turn. */
  readonly addresses: readonly string[];
  /** Bodies in latin1, posted in turn to the first address; without them each address is read. */
  readonly bodies?: readonly string[];
  /** The kind of answer that is wanted. */
  readonly accept: string;
  /** Keeps a connection for the next question, or makes one for each. */
  readonly connection: 'kept' | 'each';
  /** Number of questions that are under way all the time; 16 unless given. */
  readonly connections?: number;
  readonly milliseconds: number;
}

export interface Asked {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of one core that the asking and the server took. */
  readonly askerLoad: number;
  readonly serverLoad: number;
}

/** Rejects where an answer is not 200, or a connection breaks. */
export async function ask(asking: Asking): Promise<Asked> {
  const { addresses, bodies, accept, connection, connections = 16, milliseconds, pid } = asking;
  const last = connection === 'kept' ? '' : 'Connection: close\r\n';
  const fields = `HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n${last}`;
  const requests =
    bodies?.map(body => `POST ${addresses[0]} ${fields}Content-Length: ${body.length}\r\n\r\n${body}`) ??
    addresses.map(address => `GET ${address} ${fields}\r\n`);
  const latencies: number[] = [];
  const serverBefore = processorMs(pid);
  const askerBefore = process.cpuUsage();
  const begun = performance.now();
  const until = begun + milliseconds;
  let asked = 0;
  const next = () => {
    asked += 1;
    return requests[asked % requests.length] ?? '';
  };
  const each = { socket: asking.socket, until, next, latencies };
  const queue = connection === 'kept' ? askOnOne : askOnEach;
  await Promise.all(Array.from({ length: connections }, () => queue(each)));
  const elapsed = performance.now() - begun;
  const { user, system } = process.cpuUsage(askerBefore);
  return {
    perSecond: (latencies.length * 1000) / elapsed,
    p50Ms: median(latencies),
    p99Ms: percentile(latencies, 99),
    askerLoad: (user + system) / 1000 / elapsed,
    serverLoad: (processorMs(pid) - serverBefore) / elapsed,
  };
}

interface SerialQueue {
  readonly socket: string;
  readonly until: number;
  readonly next: () => string;
  readonly latencies: number[];
}

function askOnOne({ socket, until, next, latencies }: SerialQueue): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const connection = createConnection(socket);
  let begun = performance.now();
  connection.on('connect', () => connection.write(next(), 'latin1'));
  onAnswer(connection, reject, () => {
    const now = performance.now();
    latencies.push(now - begun);
    if (now >= until) {
      connection.destroy();
      resolve();
      return;
    }
    begun = now;
    connection.write(next(), 'latin1');
  });
  return promise;
}

async function askOnEach({ socket, until, next, latencies }: SerialQueue): Promise<void> {
  for (let begun = performance.now(); begun < until; ) {
    await new Promise<void>((resolve, reject) => {
      const connection = createConnection(socket);
      connection.write(next(), 'latin1');
      onAnswer(connection, reject, () => {
        connection.destroy();
        resolve();
      });
    });
    const now = performance.now();
    latencies.push(now - begun);
    begun = now;
  }
}

function onAnswer(connection: Socket, reject: (error: Error) => void, answered: () => void): void {
  let text = '';
  connection.on('error', reject);
  connection.on('data', chunk => {
    text += chunk.toString('latin1');
    const head = text.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = text.indexOf('Content-Length: ') + 'Content-Length: '.length;
    const end = head + 4 + Number(text.slice(length, text.indexOf('\r', length)));
    if (text.length < end) return;
    if (!text.startsWith('HTTP/1.1 200 ')) reject(new Error(`an answer was not 200:\n${text}`));
    text = '';
    answered();
  });
}
