/** `POST /v1/push` as a hook sends it, with fields that no hook would send. */

import { request } from 'node:http';

/** Gives the status and the text. */
export function askPush(
  socketPath: string,
  fields: readonly (string | Buffer)[],
  lines: string | Buffer,
): Promise<{ readonly status: number; readonly text: string }> {
  const parts = [...fields, ''].flatMap(field => [Buffer.from(field), Buffer.from([0])]);
  const body = Buffer.concat([...parts, Buffer.from(lines)]);
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Length': body.length };
    const asked = request(
      { socketPath, path: '/v1/push', method: 'POST', agent: false, headers },
      response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}
