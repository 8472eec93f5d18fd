/**
 * LFS objects that are uploaded together, and the question about them in `/v1/check`.
 *
 * hooks/receive-pack/git-lfs-transfer first asks without objects whether it has to ask about each batch. It
 * need not follow the upload if the owner is not refused and no limit concerns the size of pushes or files.
 */

import { badParameter } from '../errors.ts';
import { hasBounds, type Incoming } from '../quota/index.ts';
import { excerpt } from '../text.ts';
import { answered, askedQuestion, decidedFirstByDisk, repositoryOf, startUpload } from './check.ts';
import { type Parameters, type Reply, replyWith } from './request.ts';
import type { GateServices } from './services.ts';

/** Limit of a body, of which the script sends at most 1 MiB. An object id has 64 characters. */
export const longestObjectsBytes = 1024 * 1024;
const mostObjects = 16_000;

export interface ComingObject {
  readonly oid: string;
  readonly size: number;
}

/** Makes the parts of an upload. An object that is asked about again replaces its earlier reservation. */
export function uploadPartsOf(objects: readonly ComingObject[]) {
  return objects.map(({ oid, size }) => ({ id: `lfs ${oid}`, bytes: size }));
}

export function incomingOf(objects: readonly ComingObject[]): Incoming {
  const bytes = objects.reduce((sum, { size }) => sum + size, 0);
  const [largest] = objects.toSorted((a, b) => b.size - a.size);
  return { bytes, largest: largest === undefined ? null : { bytes: largest.size, object: largest.oid } };
}

/**
 * Answers `/v1/check` with `objects`. An empty list asks whether batches have to be checked: 202 if so, else
 * 200; this is not recorded.
 */
export async function answerObjects(services: GateServices, parameters: Parameters): Promise<Reply> {
  const { ledger } = services;
  const objects = objectsIn(parameters.get('objects') ?? '');
  const question = await askedQuestion(services, parameters);
  const { ownerName, subject, unit } = question;
  const place = { ownerName, subject, path: unit?.path ?? null };
  const repository = repositoryOf(ledger, unit);
  if (objects.length > 0) {
    const things = { repository, incoming: incomingOf(objects) };
    return answered(
      services,
      question,
      startUpload(services, { ...place, parts: uploadPartsOf(objects), things }),
    );
  }
  const { owner, decision } = decidedFirstByDisk(services, place, () =>
    ledger.decide(ownerName, subject, 0, { repository }),
  );
  const isAskedAgain =
    !decision.allowed || ledger.settings.precise || hasBounds(ledger.standing(owner), ['push', 'file']);
  return replyWith(isAskedAgain ? 202 : 200, { ask_again: isAskedAgain }, '');
}

function objectsIn(text: string): readonly ComingObject[] {
  const lines = text.split('\n', mostObjects + 2).filter(line => line !== '');
  if (lines.length > mostObjects) throw badParameter(`objects has more than ${mostObjects} lines`);
  return lines.map(line => {
    const [, oid = '', size = ''] = /^([0-9a-f]{1,128}) (\d{1,30})$/.exec(line) ?? [];
    if (oid === '') throw badParameter(`objects has ${excerpt(line)}, where an id and a size are expected`);
    // The real program accepts sizes that no file can have.
    return { oid, size: Math.min(Number(size), Number.MAX_SAFE_INTEGER) };
  });
}
