/** One question to the gate over a connection of its own, as a hook would ask. */

import { request } from 'node:http';
import { z } from 'zod';

type GateAnswer =
  /** It answers; the reasons why its answers cannot be relied on, or none. */
  | { readonly reasons: readonly string[] }
  /** Nobody answers, or not in time, or something else does. */
  | { readonly failure: string };

const health = z.object({ reasons: z.array(z.string()) });

/** Never rejects. */
export function askGate(socketPath: string, deadlineMs: number): Promise<GateAnswer> {
  return new Promise(resolve => {
    const silent = (error: Error) => resolve({ failure: error.message });
    const signal = AbortSignal.timeout(deadlineMs);
    const asked = request({ socketPath, path: '/readyz', agent: false, signal }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', silent);
      response.on('end', () => {
        const answer = health.safeParse(parsed(text));
        if (answer.success) resolve({ reasons: answer.data.reasons });
        else resolve({ failure: `an answer with status ${response.statusCode} that is not the gate's` });
      });
    });
    asked.on('error', silent);
    asked.end();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
