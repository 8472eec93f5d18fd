/**
 * The order of what is said again and again.
 *
 * A message over a connection that broke may reach Redis after what was said later over the next one, or
 * by the daemon that was started next. So whatever may be said twice has a number, which Redis was asked for
 * before it was sent, and is refused as `stale` where Redis has heard something later: of the same owner and
 * host, of events and levels by the same writer, or of owners whom a change of policy took out. Who lives
 * says it again with a greater number.
 *
 * In `{PREFIX}:order` stand `last`, the number that was given last; `departed`, that of the last change that
 * took owners out; and `recorded WRITER`, that of the events and levels that came last. Changes of policy
 * need no number: each is made upon the one before, or not at all.
 */

import type { Redis } from 'ioredis';
import { mapConcurrent, runScript, type ScriptReply, throwIfFault } from './commands.ts';
import type { RedisContext } from './context.ts';
import { away } from './faults.ts';
import * as scripts from './share-scripts.ts';

/** Greater than all that were given before, and than `least`. */
export async function nextNumber(context: RedisContext, least = 0): Promise<number> {
  const reply = await runScript(context, scripts.number, [context.keys.order], [String(least)]);
  return Number(reply.with[0]);
}

/** Number of times that others may come between, at most. */
const mostTries = 20;

/**
 * Says each of them, and again what others came before; one reply each, in their order, none of them `stale`.
 */
export async function sendNumbered<T>(
  context: RedisContext,
  list: readonly T[],
  say: (client: Redis, one: T, number: number) => Promise<ScriptReply>,
): Promise<readonly ScriptReply[]> {
  const { where } = context.connection;
  const replies = new Map<T, ScriptReply>();
  let least = 0;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const left = list.filter(one => !replies.has(one));
    if (left.length === 0) return list.flatMap(one => replies.get(one) ?? []);
    const number = await nextNumber(context, least);
    const given = await mapConcurrent(context, left, async (client, one) =>
      throwIfFault(where, await say(client, one, number)),
    );
    for (const [at, one] of left.entries()) {
      const reply = given[at];
      if (reply?.is === 'stale') least = Math.max(least, Number(reply.with[0]));
      else if (reply !== undefined) replies.set(one, reply);
    }
  }
  throw away(where, 'others come before all the time');
}
