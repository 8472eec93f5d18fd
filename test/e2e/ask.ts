/** One question over a Unix socket, and the waiting for an answer that is to come. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, answerIn, send } from '../api/http.ts';

export type { Answer } from '../api/http.ts';

export interface Question {
  readonly method?: string;
  /** Goes out as JSON; a buffer as it is. */
  readonly body?: unknown;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Rejects where the daemon does not answer. */
export async function ask(socketPath: string, path: string, question: Question = {}): Promise<Answer> {
  const { body: given, accept = 'application/json' } = question;
  const body = given === undefined || given instanceof Buffer ? given : JSON.stringify(given);
  const { method = body === undefined ? 'GET' : 'POST' } = question;
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const type = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {};
  const headers = { Accept: accept, ...type, ...length, ...question.headers };
  return answerIn(await send({ agent: false, to: { socketPath }, method, path, headers, body }));
}

const askAgainMs = 25;
/** A look that takes long, such as find(1) over a tree, leaves the processors to what it waits for. */
const longestPauseMs = 200;
/** Time that something is waited for. */
export const patienceMs = 60_000;

/** Looks again and again until there is something; rejects with what `last` says after `waitMs`, a minute. */
export async function until<Seen>(
  look: () => Promise<Seen | null> | Seen | null,
  last: () => string = () => 'what was waited for did not come',
  waitMs = patienceMs,
): Promise<Seen> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const begunAt = performance.now();
    const seen = await look();
    if (seen !== null) return seen;
    const now = performance.now();
    if (now > deadline) throw new Error(last());
    await delay(Math.min(longestPauseMs, Math.max(askAgainMs, 3 * (now - begunAt))));
  }
}
