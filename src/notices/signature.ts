/** Signatures as Standard Webhooks has them: HMAC-SHA256 of the id, the time and the body. */

import { createHmac } from 'node:crypto';

export interface Signed {
  /** Id that stays however often the notice is sent. */
  readonly id: string;
  /** Whole seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** The headers; one signature for each secret. */
export function signedHeaders(
  { id, timestamp, body }: Signed,
  secrets: readonly string[],
): Readonly<Record<'webhook-id' | 'webhook-signature' | 'webhook-timestamp', string>> {
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
