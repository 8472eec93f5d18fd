/** Requests exactly as they are given, over a port or a Unix socket. */

import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Undefined where the body is empty or no JSON. */
  readonly json: unknown;
}

export interface Sent {
  readonly agent: Agent | false;
  readonly to: { readonly host: string; readonly port: number } | { readonly socketPath: string };
  readonly method: string;
  /** Goes out as it is: nothing is encoded or resolved. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

/** Resolves once there are headers. */
export function send({ agent, to, method, path, headers, body }: Sent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({ ...to, agent, method, path, headers }, resolve)
      .once('error', reject)
      .end(body);
  });
}

export async function answerIn(response: IncomingMessage): Promise<Answer> {
  const text = await textOf(response);
  const { statusCode: status = 0, headers } = response;
  const isJson = text !== '' && /^application\/json\b/.test(headers['content-type'] ?? '');
  return { status, headers, text, json: isJson ? JSON.parse(text) : undefined };
}
