/**
 * The usage on each host, by owner. Only the host itself writes it, each time upon its last write. The number
 * of a write shows other hosts what has changed, within an epoch that the host draws when it writes
 * everything anew.
 */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { isLeaf } from '../../quota/index.ts';
import { printable } from '../../text.ts';
import type { LargeUnit } from '../record-store.ts';
import { usageIn } from '../share.ts';
import { type TellUsage, type ToldShare, whole } from '../shared.ts';
import { expectTypes, fenced, pipeline, runFenced, runScript, script, words } from './commands.ts';
import type { RedisContext } from './connection.ts';
import { decodeFieldName, fieldName, parseStored, textIn } from './keys.ts';
import { fieldsAfter, numberChanges } from './numbered.ts';
import { scanFields } from './policy.ts';

/** Position of a host that was forgotten. */
const forgotten = 'forgotten';

/** KEYS: fences, usage, the host's usage, its changes, its largest units. */
const writeScript = script(
  fenced,
  numberChanges,
  expectTypes('hash', 'hash', 'hash', 'zset', 'hash'),
  `
local news, host, from, to = word(), word(), word(), word()
local there = redis.call('HGET', KEYS[2], host) or ''
if there ~= from then return {'conflict', there} end
local gone, usage, largest, strays = words(), words(), words(), words()
put(KEYS[3], usage)
put(KEYS[5], largest)
drop(KEYS[3], gone)
drop(KEYS[3], strays)
drop(KEYS[5], gone)
if to == '' then return {'kept'} end
local number = string.match(to, '%d+$')
if number == '0' then redis.call('UNLINK', KEYS[4]) end
number_changes(KEYS[4], number, gone, usage)
redis.call('HSET', KEYS[2], host, to)
redis.pcall('PUBLISH', news, 'usage')
return {'kept'}`,
);

/** Writes a host's usage. `conflict`: the store is not at `from`, and nothing is written. */
export async function tellUsage(
  context: RedisContext,
  host: string,
  { from, to, usage: texts, gone, largest, names, strayFields = [] }: TellUsage,
): Promise<'kept' | 'conflict'> {
  const { usage, usageOf, usageChanges, largest: largestOf, news } = context.keys;
  const reply = await runFenced(
    context,
    writeScript,
    [usage, usageOf(host), usageChanges(host), largestOf(host)],
    [
      news,
      fieldName(host),
      from ?? '',
      to ?? '',
      ...words(gone.map(fieldName)),
      ...words(
        [...texts].flatMap(([ownerKey, text]) => [fieldName(ownerKey), named(text, names?.get(ownerKey))]),
      ),
      ...words([...largest].flatMap(([ownerKey, units]) => [fieldName(ownerKey), JSON.stringify(units)])),
      ...words(strayFields),
    ],
  );
  return reply.is === 'kept' ? 'kept' : 'conflict';
}

/** Reads all usage that a host reported, some owners at a time. */
export async function* usageOnHost(
  context: RedisContext,
  host: string,
): AsyncGenerator<readonly ToldShare[]> {
  for await (const page of scanFields(context, context.keys.usageOf(host))) {
    yield page.map(([name, value]) => toldAt(context, host, name, value));
  }
}

/**
 * Reads the same as it is stored, so that the host itself can replace what nobody can read. Owner's key null:
 * the field is none of softquota's.
 */
export async function* usageTexts(
  context: RedisContext,
  host: string,
): AsyncGenerator<readonly (readonly [ownerKey: string | null, text: string, field: string])[]> {
  for await (const page of scanFields(context, context.keys.usageOf(host))) {
    yield page.map(([field, value]) => [textIn(field), withoutName(value.toString()).text, field]);
  }
}

/** Reads the usage that a host reported after a number, some owners at a time. */
export async function usageAfter(context: RedisContext, host: string, number: number) {
  const { usageOf, usageChanges } = context.keys;
  const numbered = { hash: usageOf(host), changes: usageChanges(host) };
  const { fields, ...page } = await fieldsAfter(context, numbered, number);
  return { ...page, shares: fields.map(([name, value]) => toldAt(context, host, name, value)) };
}

function toldAt({ connection, keys }: RedisContext, host: string, field: string, value: Buffer | null) {
  return parseStored(connection.where, keys.usageOf(host), field, (): ToldShare => {
    const ownerKey = decodeFieldName(field);
    if (value === null) return [ownerKey, null];
    const { text, name } = withoutName(value.toString());
    const share = usageIn(ownerKey, host, text);
    return name === undefined ? [ownerKey, share] : [ownerKey, share, name];
  });
}

/** Adds the name of an owner to a text of `usageText`. */
function named(text: string, name: string | undefined): string {
  return name === undefined ? text : `${text} name=${fieldName(name)}`;
}

/** Splits what `named` made. A damaged name stays in the text, so that nobody reads it as usage. */
function withoutName(value: string): { readonly text: string; readonly name: string | undefined } {
  const [text = '', field] = value.split(' name=');
  const name = field === undefined ? undefined : textIn(field);
  return name === null ? { text: value, name: undefined } : { text, name };
}

/** Returns the largest units of an owner on these hosts, as they reported them, largest first. */
export async function largestUnits(
  { connection, keys }: RedisContext,
  ownerKey: string,
  hosts: readonly string[],
): Promise<ReadonlyMap<string, readonly LargeUnit[]>> {
  const name = fieldName(ownerKey);
  const texts = await connection.run(client =>
    pipeline(client, all => {
      for (const host of hosts) all.hget(keys.largest(host), name);
      return all;
    }),
  );
  return new Map(
    hosts.map((host, at) => {
      const text = texts[at];
      const read = () => (typeof text === 'string' ? largestIn(text) : []);
      return [host, parseStored(connection.where, keys.largest(host), name, read)];
    }),
  );
}

/** Returns the largest units of all owners on a host, some owners at a time. */
export async function* allLargest(
  context: RedisContext,
  host: string,
): AsyncGenerator<readonly (readonly [ownerKey: string, units: readonly LargeUnit[]])[]> {
  const key = context.keys.largest(host);
  for await (const page of scanFields(context, key)) {
    yield page.map(([name, value]) =>
      parseStored(context.connection.where, key, name, () => [
        decodeFieldName(name),
        largestIn(value.toString()),
      ]),
    );
  }
}

/**
 * Removes a host from the list; `conflict`: its daemon runs. KEYS: alive, hosts, usage, and the three keys of
 * its usage.
 */
const forgetScript = script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return {'conflict'} end
local host, news, is_known = word(), word(), word() == '1'
local place = redis.call('HGET', KEYS[3], host)
local was_there = redis.call('HDEL', KEYS[2], host) == 1 or (place and place ~= '${forgotten}')
if not was_there and not is_known then return {'missing'} end
redis.call('HSET', KEYS[3], host, '${forgotten}')
redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
redis.pcall('PUBLISH', news, 'usage')
return {'kept'}`);

/**
 * Removes a host with its usage. Rejects with `conflict` while it runs, with `not_found` if there is none.
 * `isKnown`: it counts, although the store may have lost it.
 */
export async function forgetHost(context: RedisContext, host: string, isKnown = false): Promise<void> {
  const { alive, hosts, usage, usageOf, usageChanges, largest, news } = context.keys;
  const keys = [alive(host), hosts, usage, usageOf(host), usageChanges(host), largest(host)];
  const args = [fieldName(host), news, isKnown ? '1' : ''];
  const { is } = await runScript(context, forgetScript, keys, args);
  if (is === 'conflict') {
    throw new SoftquotaError(
      'conflict',
      `the daemon of host ${printable(host)} is running: only a host whose daemon has stopped can be forgotten`,
    );
  }
  if (is === 'missing') throw new SoftquotaError('not_found', `there is no host ${printable(host)}`);
}

const unitsShape = z.array(
  z.strictObject({
    kind: z.enum(['walked', 'reported']),
    name: z.string(),
    leaf: z.string().refine(isLeaf, { error: 'no kind of data' }),
    bytes: whole.nonnegative(),
  }),
);

/** Reads JSON of the largest units; throws for any other text. */
function largestIn(text: string): readonly LargeUnit[] {
  return unitsShape.parse(JSON.parse(text));
}
