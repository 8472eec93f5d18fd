/** Finds what a push grows: the unit of its repository, or what the server says of an unknown one. */

import { SoftquotaError } from '../../errors.ts';
import type { Leaf } from '../../quota/index.ts';
import { knownUnitAt, type LocatedUnit } from '../located-unit.ts';
import { pathIn } from '../parameters.ts';
import type { GateServices } from '../services.ts';
import type { ServerFacts } from './servers.ts';
import type { PushServices } from './services.ts';

export interface PushPlace {
  readonly ownerName: string;
  readonly leaf: Leaf;
  /** Null: no template matches, and the server says whose it is. */
  readonly unit: LocatedUnit | null;
}

interface PlaceServices extends Pick<GateServices, 'locate'> {
  readonly ledger: Pick<GateServices['ledger'], 'units'>;
  readonly pushes: Pick<PushServices, 'sameDirectory'>;
}

/** Null: nobody has a quota for it. Rejects with `not_ready` where the disk does not answer. */
export async function findPlace(services: PlaceServices, facts: ServerFacts): Promise<PushPlace | null> {
  const unit = await unitAt(services, pathIn(facts.directory));
  if (unit !== null && unit.owner !== null) return { ownerName: unit.owner, leaf: unit.leaf, unit };
  return facts.claim === null ? null : { ...facts.claim, unit: null };
}

async function unitAt(services: PlaceServices, path: string): Promise<LocatedUnit | null> {
  const known = knownUnitAt(services.ledger, path);
  if (known !== null) return known;
  try {
    return await services.locate(path);
  } catch (error) {
    if (!(error instanceof SoftquotaError && error.code === 'unknown_path')) throw error;
  }
  const same = await services.pushes.sameDirectory(path);
  return same === null ? null : knownUnitAt(services.ledger, same);
}
