/** Single questions to a server at a socket, over a kept connection, and how long their answers take. */

import { Agent, request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Server } from './daemon.ts';
import { processorMs } from './processes.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Up to the end of the answer. */
  readonly ms: number;
}

export interface Change {
  readonly method: 'PATCH' | 'POST';
  readonly body: object;
}

/** To be destroyed at the end. */
export const agent = new Agent({ keepAlive: true });

export function answerOf(socketPath: string, path: string, change?: Change): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const { method = 'GET', body } = change ?? {};
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    request({ socketPath, path, agent, method, headers }, response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const ms = performance.now() - begun;
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), ms });
      });
    })
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Null: nobody answers. */
export async function statusOf(socket: string, path: string): Promise<number | null> {
  return answerOf(socket, path).then(
    ({ status }) => status,
    () => null,
  );
}

/** The time that a good answer takes. */
export async function msOf(socket: string, path: string, change?: Change): Promise<number> {
  const { status, text, ms } = await answerOf(socket, path, change);
  if (status >= 300) throw new Error(`${path} was answered with ${status}: ${text}`);
  return ms;
}

export function adminOf({ socket }: Server): string {
  return join(dirname(socket), 'admin.sock');
}

/** Resolves with the administrators' socket of a daemon once it answers there. */
export async function adminAnswers(daemon: Server): Promise<string> {
  const admin = adminOf(daemon);
  while ((await statusOf(admin, '/api/v1/version')) !== 200) await delay(10);
  return admin;
}

/** Resolves once it has nothing left to do. */
export async function settled({ pid }: Server): Promise<void> {
  for (let before = -1; ; ) {
    const now = processorMs(pid);
    if (now - before < 20) return;
    before = now;
    await delay(500);
  }
}
