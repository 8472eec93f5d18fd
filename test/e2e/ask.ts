/** One question over a Unix socket, and the waiting for an answer that is to come. */

import { type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Question {
  readonly method?: string;
  readonly body?: unknown;
  readonly accept?: string;
}

/** Rejects where the daemon does not answer. */
export function ask(socketPath: string, path: string, question: Question = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = question.body === undefined ? null : JSON.stringify(question.body);
    const asked = request(
      {
        socketPath,
        path,
        method: question.method ?? (body === null ? 'GET' : 'POST'),
        agent: false,
        headers: {
          Accept: question.accept ?? 'application/json',
          ...(body === null
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        },
      },
      response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body ?? undefined);
  });
}

const askAgainMs = 25;
/** A look that takes long, such as find(1) over a tree, leaves the processors to what it waits for. */
const longestPauseMs = 200;
/** Time that something is waited for. */
export const patienceMs = 60_000;

/** Looks again and again until there is something; rejects with what `last` says after a minute. */
export async function until<Seen>(
  look: () => Promise<Seen | null> | Seen | null,
  last: () => string = () => 'what was waited for did not come',
): Promise<Seen> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const begunAt = performance.now();
    const seen = await look();
    if (seen !== null) return seen;
    const now = performance.now();
    if (now > deadline) throw new Error(last());
    await delay(Math.min(longestPauseMs, Math.max(askAgainMs, 3 * (now - begunAt))));
  }
}
