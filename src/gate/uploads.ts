/** Decides about uploads that a proxy or a batch announces, and keeps room for them. */

import type { Upload } from '../layout/index.ts';
import type { Action } from '../ledger/index.ts';
import { decidedFirstByDisk, type GrowthPlace } from './check.ts';
import type { Decided, GateServices } from './services.ts';

/**
 * Returns the path of the repository that an upload adds to. It may not exist yet. Null if the upload names
 * none.
 */
export function repositoryOfUpload({ ledger, uploads }: GateServices, upload: Upload): string | null {
  const { subject } = upload;
  const isOfIt = subject === 'repository' || subject === 'size:assets:wiki' || subject === 'size:git:lfs';
  const paths = isOfIt ? uploads().repositoryPathsOf(upload) : [];
  return paths.find(path => ledger.units.unit(path) !== undefined) ?? paths[0] ?? null;
}

/**
 * Returns the first refusal of the uploads that an address may mean, of which all must be allowed; null: none
 * is refused. `decide` tries each before, without a record or a reservation, and a refused one is decided
 * first, so that no other reserves bytes.
 */
export async function firstRefusal<Refused>(
  services: Pick<GateServices, 'settleOwner'>,
  uploads: readonly Upload[],
  decide: (upload: Upload, isTried: boolean) => Refused | null,
): Promise<{ readonly upload: Upload; readonly refused: Refused } | null> {
  for (const { owner } of uploads) await services.settleOwner(owner, false);
  const first = uploads.length > 1 ? uploads.find(upload => decide(upload, true) !== null) : undefined;
  const inOrder = first === undefined ? uploads : [first, ...uploads.filter(upload => upload !== first)];
  for (const upload of inOrder) {
    const refused = decide(upload, false);
    if (refused !== null) return { upload, refused };
  }
  return null;
}

/** Seconds after which the bytes of an upload are released if they never arrive. */
const uploadSeconds = 600;
/** Limit of the owner's units that are measured soon after an upload; most owners have one of a kind. */
const mostMeasured = 4;
/** Limit of the units that are searched for them; the next sweep measures the others. */
const mostLookedAt = 200;

/**
 * Decides about an upload whose end nobody reports. With PRECISE, its bytes are reserved until the owner's
 * usage has grown as much, or until the reservation expires. A part of 0 bytes has an unknown size.
 */
export function startUpload(
  services: GateServices,
  { ownerName, subject, path, parts, things }: GrowthPlace & Pick<Action, 'parts' | 'things'>,
): Decided {
  return decidedFirstByDisk(services, { ownerName, subject, path }, () => {
    const { ledger, letThrough } = services;
    // Several owners may upload the same object, so the id contains the owner.
    const ownParts = parts.map(({ id, bytes }) => ({ id: `upload ${ownerName} ${id}`, bytes }));
    const upload = { ownerName, subject, parts: ownParts, isReported: false, unit: null, things };
    const decided = ledger.settings.precise
      ? ledger.admit({ ...upload, seconds: uploadSeconds })
      : ledger.decide(ownerName, subject, 0, things);
    const paths = decided.decision.allowed
      ? ledger.units.walkedOf(ownerName, subject, mostMeasured, mostLookedAt)
      : [];
    for (const path of paths) letThrough(path);
    return decided;
  });
}
