/** Putting a backup into a store. */

import { SoftquotaError } from '../errors.ts';
import { type DocumentRecord, newGeneration, type Store, type UnitRecord } from '../store/index.ts';
import { counted } from '../text/index.ts';
import { type Backup, happenedIn } from './document.ts';

/** Counts of a restore, as `softquota restore --json` prints them. */
export interface Restored {
  readonly owners: number;
  readonly policy: number;
  readonly reported_units: number;
  readonly events: number;
  /** Entries that were in the store but not in the backup, and were removed. */
  readonly removed_owners: number;
  readonly removed_policy: number;
  readonly removed_units: number;
}

/**
 * Makes the store hold what the backup holds, in one write. What walks found stays: the next walk puts it
 * right. Rejects with `conflict` where the store holds what would go, unless it may be replaced.
 */
export async function restore(
  store: Store,
  backup: Backup,
  { replace }: { readonly replace: boolean },
): Promise<Restored> {
  const kept = await store.load();
  const keptUnits: Pick<UnitRecord, 'id' | 'kind'>[] = [];
  for await (const some of store.units()) for (const { id, kind } of some) keptUnits.push({ id, kind });
  const levels = await store.levels();
  const isEmpty = kept.owners.length + kept.documents.length + keptUnits.length === 0;
  if (!replace && !isEmpty) {
    throw new SoftquotaError(
      'conflict',
      `the store holds ${counted(kept.owners.length, 'owner', 'owners')}, ${counted(keptUnits.length, 'unit', 'units')} and ${counted(kept.documents.length, 'record', 'records')} of policy already; with --replace the ` +
        'backup takes their place',
    );
  }
  const units: readonly UnitRecord[] = backup.reported_units.map(({ measured_at: measuredAt, ...unit }) => ({
    ...unit,
    measuredAt,
    kind: 'reported',
    files: 0,
    partial: false,
  }));
  const owners = new Set(backup.owners.map(({ key }) => key));
  const ids = new Set(units.map(({ id }) => id));
  const goneOwners = kept.owners.map(({ key }) => key).filter(key => !owners.has(key));
  const idOf = ({ kind, key }: Pick<DocumentRecord, 'kind' | 'key'>) => JSON.stringify([kind, key]);
  const graces = backup.graces ?? [];
  const documents = new Set([...backup.policy, ...graces].map(idOf));
  const goneDocuments = kept.documents.filter(document => !documents.has(idOf(document)));
  const goneUnits = keptUnits
    .filter(({ kind, id }) => kind === 'reported' && !ids.has(id))
    .map(({ id }) => id);
  await store.write({
    goneUnits,
    goneOwners,
    goneDocuments: goneDocuments.map(({ kind, key }) => ({ kind, key })),
    // Deltas that count until the next walk belong to the time after the backup.
    goneDeltas: kept.deltas.map(({ seq }) => seq),
    owners: backup.owners,
    documents: [...backup.policy, ...graces],
    // The policy that hosts share may have gone on since.
    ...(kept.replicated === null ? {} : { replicated: newGeneration(kept.replicated.version + 1) }),
    units,
    goneEventsBefore: Number.MAX_SAFE_INTEGER,
    goneLevels: levels.map(({ ownerId }) => ownerId),
    ...happenedIn(backup),
  });
  return {
    owners: owners.size,
    policy: backup.policy.length,
    reported_units: ids.size,
    events: backup.events.length,
    removed_owners: goneOwners.length,
    removed_policy: goneDocuments.length,
    removed_units: goneUnits.length,
  };
}
