/** Changes of policy, acknowledged by as many replicas as are asked for. */

import type { Redis } from 'ioredis';
import { SoftquotaError } from '../../errors.ts';
import { replyIn, type ScriptCall, type ScriptReply, sendScript, throwIfFault } from './commands.ts';
import type { RedisContext } from './context.ts';
import { away, replyCode } from './faults.ts';

/** Milliseconds that replicas are waited for: a change is acknowledged or refused within 2 s. */
const replicaMs = 1200;

const outcomeUnknown =
  'it is not known whether the change was made. It may come into force within moments; to ask for it again does no harm';

/**
 * A script that changes policy, acknowledged by replicas where that is asked for.
 *
 * WAIT speaks of what its own connection has written: so both are sent together, to one server, and where the
 * connection breaks both fail.
 */
export async function runReplicated(
  { policyConnection, waitReplicas }: RedisContext,
  ...call: ScriptCall
): Promise<ScriptReply> {
  const { where } = policyConnection;
  let isSent = false;
  const asked = policyConnection.run(async client => {
    isSent = true;
    if (waitReplicas === 0) return { reply: await sendScript(client, ...call), replicas: 0 };
    const [reply, replicas] = await acknowledged(client, call, waitReplicas);
    return { reply: replyIn(reply), replicas };
  });
  const { reply, replicas } = await asked.catch((error: unknown) => {
    throw isSent ? unlessRefused(error) : error;
  });
  if (reply.is === 'few') {
    throw away(
      where,
      `only ${Number(reply.with[0])} of ${waitReplicas} replicas (WAIT_REPLICAS) are there: nothing was changed`,
    );
  }
  if (throwIfFault(where, reply).is === 'kept' && replicas < waitReplicas) {
    throw away(
      where,
      `the change was made, but only ${replicas} of ${waitReplicas} replicas (WAIT_REPLICAS) acknowledged it within ` +
        `${replicaMs / 1000} s; it may be in force all the same`,
    );
  }
  return reply;
}

/** A change that Redis itself refused was not made. Without an answer nobody knows. */
function unlessRefused(error: unknown): unknown {
  if (!(error instanceof SoftquotaError) || error.code !== 'store_away') return error;
  const wasNotSent = error.cause instanceof Error && error.cause.message.includes('enableOfflineQueue');
  if (wasNotSent || replyCode(error.cause) !== null) return error;
  return new SoftquotaError('store_away', `${error.message}; ${outcomeUnknown}`, { cause: error });
}

/**
 * Sends the script's text, never its hash: a server that did not know it would be sent the text only after
 * WAIT, which would then acknowledge a change that is not written yet.
 */
function acknowledged(
  client: Redis,
  [script, keys, args]: ScriptCall,
  waitReplicas: number,
): Promise<[unknown, number]> {
  return Promise.all([
    client.call('eval', [script.text, String(keys.length), ...keys, ...args]),
    client.wait(waitReplicas, replicaMs),
  ]);
}
