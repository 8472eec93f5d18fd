/**
 * `/v1/sources`: programs that report their units in complete sets.
 *
 * A set may have a hundred megabytes, so it is read in pieces, each one after the previous one was processed.
 * It may take as long as data keeps coming.
 */

import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { SoftquotaError } from '../errors.ts';
import { forgeSource, type SourceReport } from '../ledger/index.ts';
import { nameFault } from '../quota/index.ts';
import { counted, formatBytes, isoTime, printable } from '../text.ts';
import { type Parameters, type Reply, replyWith, requestAddress, secondsIn } from './request.ts';
import type { GateServices } from './services.ts';

export const sourcesAddress = '/v1/sources';

export const longestSetMs = 3_600_000;

/** A source that does not say how long its figures are valid has to report once a day. */
const usualStaleAfter = 86_400;
const longestStaleAfter = 366 * 86_400;

export function sources({ ledger }: GateServices): Reply {
  const { list } = ledger.sources;
  return replyWith(200, { sources: list.map(shown) }, list.map(lineOf).join(''));
}

export async function answerSource(
  services: GateServices,
  parameters: Parameters,
  request: IncomingMessage,
): Promise<Reply> {
  const name = nameIn(requestAddress(request));
  switch (request.method) {
    case 'PUT':
      mustBeFree(name);
      return put(services, name, parameters, request);
    case 'DELETE':
      mustBeFree(name);
      await services.ledger.sources.remove(name);
      return replyWith(204, null, '');
    default:
      return one(services, name);
  }
}

function one({ ledger }: GateServices, name: string): Reply {
  const report = ledger.sources.report(name);
  if (report === undefined) throw new SoftquotaError('not_found', `there is no source ${printable(name)}`);
  return replyWith(200, shown(report), lineOf(report));
}

async function put(
  { ledger }: GateServices,
  name: string,
  parameters: Parameters,
  request: IncomingMessage,
): Promise<Reply> {
  try {
    const seconds = secondsIn(parameters, 'stale_after', usualStaleAfter, longestStaleAfter);
    const { units, owners } = await ledger.sources.put(name, seconds * 1000, piecesOf(request));
    return replyWith(200, { units, owners }, `${units} units of ${owners} owners\n`);
  } catch (error) {
    // A client whose connection is cut while it sends does not read the answer.
    request.resume();
    await finished(request, { writable: false }).catch(() => {});
    throw error;
  }
}

async function* piecesOf(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    // If the reading ends early, `put` discards the rest of the body.
    yield* request.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new SoftquotaError('bad_parameter', 'the body is incomplete', { cause });
  }
  // From here on the disk takes time, which must not count as the client's silence.
  request.socket.setTimeout(0);
}

/** Throws `conflict` for the source in which the daemon itself keeps the figures of a forge's database. */
function mustBeFree(name: string): void {
  if (name !== forgeSource) return;
  const message = `${forgeSource} is softquota's own source ([forge] in app.ini): choose another name`;
  throw new SoftquotaError('conflict', message);
}

function nameIn(address: string): string {
  const text = address.slice(sourcesAddress.length + 1);
  let name: string;
  try {
    name = decodeURIComponent(text);
  } catch (cause) {
    throw new SoftquotaError('bad_parameter', 'the name of the source is not percent-encoded UTF-8', {
      cause,
    });
  }
  const why = nameFault(name);
  if (why === null) return name;
  throw new SoftquotaError('bad_parameter', `the source is "${printable(name)}", which is no name: ${why}`);
}

function shown({ name, units, owners, bytes, reportedAt, staleAfterMs, isStale }: SourceReport): object {
  return {
    name,
    units,
    owners,
    bytes,
    reported_at: isoTime(reportedAt),
    stale_after: staleAfterMs / 1000,
    stale: isStale,
  };
}

function lineOf({ name, units, owners, bytes, reportedAt, isStale }: SourceReport): string {
  const when = `${isoTime(reportedAt)}${isStale ? ', stale' : ''}`;
  return `${printable(name)}: ${counted(units, 'unit', 'units')} of ${counted(owners, 'owner', 'owners')}, ${formatBytes(bytes)}, reported at ${when}\n`;
}
