/** Turns errors of Redis and of the connection into the codes and texts that users read. */

import { messageOf, SoftquotaError } from '../../errors.ts';

/** The error for a store that cannot be used now, but may be later. */
export function away(where: string, reason: string, cause?: unknown): SoftquotaError {
  return new SoftquotaError('store_away', `${where} cannot be used at the moment: ${reason}`, { cause });
}

/** The error for content that softquota did not write, or that somebody has changed since. */
export function damaged(where: string, key: string, why: string, cause?: unknown): SoftquotaError {
  return new SoftquotaError(
    'store_refused',
    `${where}: what lies under the key ${key} is none of softquota's (${why}). It was left as it is. Where another ` +
      'program uses this PREFIX, give softquota one of its own; else put a backup in its place.',
    { cause },
  );
}

function otherSchema(where: string, key: string, found: string): SoftquotaError {
  const [age, which] = Number(found) < Number(redisSchema) ? ['an older', 'that'] : ['a newer', 'this'];
  return new SoftquotaError(
    'store_refused',
    `${where}: the key ${key} says that ${age} softquota keeps its records there (schema ${found}, and this one ` +
      `knows schema ${redisSchema}). Update ${which} softquota.`,
  );
}

/** The version of the form of all content. */
export const redisSchema = '3';

/** The error for another schema. `found`: the schema in the policy's key. */
export function strangeSchema(where: string, key: string, found: string): SoftquotaError {
  return /^\d+$/.test(found)
    ? otherSchema(where, key, found)
    : damaged(where, key, 'it does not say which schema it has');
}

/** Returns the first word of an error that Redis itself reported; null for any other error. */
export function replyCode(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null;
  return /^[A-Z]+/.exec(error.message)?.[0] ?? null;
}

/** Shorter secrets occur in any text. */
const shortestSecret = 6;

/**
 * Removes the password and the sent arguments from an error: servers and proxies quote commands that they
 * refuse, also AUTH.
 */
export function withoutSecret(error: unknown, secret: string | null): unknown {
  if (!(error instanceof Error) || error instanceof SoftquotaError) return error;
  const masked = (text: string) => {
    const unquoted = text.replace(/, with args beginning with:[^\n]*/g, '');
    return secret === null || secret.length < shortestSecret
      ? unquoted
      : unquoted.replaceAll(secret, '********');
  };
  error.message = masked(error.message);
  if (error.stack !== undefined) error.stack = masked(error.stack);
  withoutSecret(error.cause, secret);
  return error;
}

export function failureOf(where: string, error: unknown): SoftquotaError {
  if (error instanceof SoftquotaError) return error;
  const words = messageOf(error);
  // Redis and ioredis report none of these, so it is a bug and no fault of the server.
  if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) {
    return new SoftquotaError('internal', `${where}: ${words}`, { cause: error });
  }
  switch (replyCode(error)) {
    case 'NOAUTH':
    case 'WRONGPASS':
      return new SoftquotaError(
        'store_refused',
        `${where} does not let us in: ${words}. Write its user and password into [store] HOST, before the host.`,
        { cause: error },
      );
    case 'NOPERM':
      return new SoftquotaError(
        'store_refused',
        `${where} does not permit it: ${words}. Give the user in [store] HOST the rights that docs/redis.md names.`,
        { cause: error },
      );
    case 'WRONGTYPE':
      return damaged(where, keyOf(error), 'it is of another type', error);
  }
  return away(where, reasons[replyCode(error) ?? ''] ?? words, error);
}

function keyOf(error: unknown): string {
  // ioredis adds the command to each error that Redis reported.
  const { command } = error as {
    readonly command?: { readonly name?: string; readonly args?: readonly unknown[] };
  };
  const isOfKey = command?.name !== 'auth' && command?.name !== 'hello';
  return String((isOfKey ? command?.args?.[0] : undefined) ?? 'that was asked for');
}

const inCluster = 'it is a server of a Redis Cluster; softquota needs a single Redis, or Sentinels';

const reasons: Readonly<Record<string, string>> = {
  OOM: 'its memory is full (maxmemory)',
  MISCONF: 'it cannot write its data to the disk, and so takes no more',
  READONLY: 'this is a replica, which takes no writes',
  LOADING: 'it is still loading its data',
  BUSY: 'it is busy with a script',
  NOREPLICAS: 'it has fewer replicas than its configuration asks for',
  CLUSTERDOWN: inCluster,
  MOVED: inCluster,
};
