/**
 * The order of what is said again and again.
 *
 * A message over a connection that broke may reach Redis after what was said later over the next one, or
 * by the daemon that was started next. So whatever may be said twice has a number, which Redis was asked for
 * before it was sent, and is refused as `late` where Redis has heard something later: of the same owner and
 * host, of events and levels by the same writer, or of owners whom a change of policy took out. Who lives
 * says it again with a greater number.
 *
 * In `{PREFIX}:order` stand `last`, the number that was given last; `departed`, that of the last change that
 * took owners out; and `recorded WRITER`, that of the events and levels that came last. Changes of policy
 * need no number: each is made upon the one before, or not at all.
 */

import type { RedisClient } from './address.ts';
import { mapConcurrent, runScript, type ScriptReply, sound } from './asked.ts';
import type { Connection } from './connection.ts';
import { away } from './faults.ts';
import type { Keys } from './keys.ts';
import * as scripts from './share-scripts.ts';

/** Greater than all that were given before, and than `least`. */
export async function nextNumber(connection: Connection, { order }: Keys, least = 0): Promise<number> {
  const answer = await connection.run(async client =>
    sound(connection.where, await runScript(client, scripts.number, [order], [String(least)])),
  );
  return Number(answer.with[0]);
}

/** So often others may come between at most. */
const mostTries = 20;

/**
 * Says each of them, and again what others came before; one answer each, in their order, none of them `late`.
 */
export async function saidInOrder<T>(
  connection: Connection,
  keys: Keys,
  list: readonly T[],
  say: (client: RedisClient, one: T, number: number) => Promise<ScriptReply>,
): Promise<readonly ScriptReply[]> {
  const answers = new Map<T, ScriptReply>();
  let least = 0;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const left = list.filter(one => !answers.has(one));
    if (left.length === 0) return list.flatMap(one => answers.get(one) ?? []);
    const number = await nextNumber(connection, keys, least);
    const given = await mapConcurrent(connection, left, async (client, one) =>
      sound(connection.where, await say(client, one, number)),
    );
    for (const [at, one] of left.entries()) {
      const answer = given[at];
      if (answer?.is === 'stale') least = Math.max(least, Number(answer.with[0]));
      else if (answer !== undefined) answers.set(one, answer);
    }
  }
  throw away(connection.where, 'others come before all the time');
}
