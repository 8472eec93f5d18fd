/**
 * A backup: everything in the store that cannot be measured again, as one JSON document.
 *
 * It is taken from a running daemon and restored into a store that no daemon has open. A document that is
 * incomplete, from another program, or from a newer softquota is refused; then nothing is changed.
 */

import { z } from 'zod';
import { messageOf, SoftquotaError } from '../errors.ts';
import { graceKind, poolGraceKind } from '../policy/index.ts';
import { isLeaf } from '../quota/index.ts';
import {
  type DocumentRecord,
  type EventRecord,
  eventPages,
  newGeneration,
  ownerShape,
  type Store,
  type UnitRecord,
  whole,
} from '../store/index.ts';
import { counted, issueLines, printable } from '../text.ts';
import { version } from '../version.ts';
import type { Ledger } from './ledger.ts';

/** The newest format. A backup uses the oldest format that can express it. */
const format = 3;
const formatWithoutPools = 2;
const formatWithoutGraces = 1;

const graceKinds = [graceKind.name, poolGraceKind.name];

const reportedUnit = z.strictObject({
  id: z.string(),
  host: z.string(),
  name: z.string(),
  owner: z.string(),
  leaf: z.string().refine(isLeaf, { error: 'no subject that bytes are measured under' }),
  bytes: whole.nonnegative(),
  measured_at: whole,
  seq: whole,
});

const event = z.strictObject({
  id: z.string().regex(/^[\x21-\x7e]+$/, { error: 'expected printable ASCII without blanks' }),
  kind: z.string(),
  at: whole,
  owner_id: whole.nullable(),
  owner_key: z.string().nullable(),
  text: z.string(),
});

const policyDocument = z.strictObject({ kind: z.string(), key: z.string(), text: z.string() });

const level = z.strictObject({ owner_id: whole, text: z.string() });

/** Times are milliseconds since 1970; each `text` is the text in the store. */
const document = z.strictObject({
  softquota: z.literal('backup'),
  format: z.literal([formatWithoutGraces, formatWithoutPools, format]),
  /** The version of softquota that made the backup. */
  version: z.string(),
  host: z.string(),
  taken_at: whole,
  owners: z.array(ownerShape),
  policy: z.array(policyDocument),
  /** Running graces of owners and groups; absent: none. */
  graces: z.array(policyDocument.extend({ kind: z.literal(graceKinds) })).optional(),
  /** Units that programs reported, since no walk finds them. */
  reported_units: z.array(reportedUnit),
  /** Newest first. */
  events: z.array(event),
  levels: z.array(level),
});

export type Backup = z.infer<typeof document>;

/** Makes a backup of a running daemon. Rejects as reads of the store do. */
export async function backupOf(
  ledger: Pick<Ledger, 'documents' | 'eventLog' | 'kept' | 'units'>,
  host: string,
): Promise<Backup> {
  // Writes waiting events first, since events are read from the store. While the store is away they are
  // missing.
  await ledger.kept();
  const events: EventRecord[] = [];
  for await (const page of eventPages(ledger.eventLog)) events.push(...page);
  const levels = await ledger.eventLog.levels();
  const graces = [...ledger.documents.volatileRecords()].filter(({ kind }) => graceKinds.includes(kind));
  const hasPools = graces.some(({ kind }) => kind === poolGraceKind.name);
  const formatOfGraces = hasPools ? format : formatWithoutPools;
  return {
    softquota: 'backup',
    format: graces.length === 0 ? formatWithoutGraces : formatOfGraces,
    version,
    host,
    taken_at: Date.now(),
    owners: [...ledger.documents.owners.all],
    policy: [...ledger.documents.records()],
    ...(graces.length === 0 ? {} : { graces }),
    reported_units: [...ledger.units.units].flatMap(unit => {
      if (unit.kind !== 'reported' || unit.owner === null) return [];
      const { id, host: reportedAt, name, owner: ownerName, leaf, bytes, measuredAt, seq } = unit;
      return [{ id, host: reportedAt, name, owner: ownerName, leaf, bytes, measured_at: measuredAt, seq }];
    }),
    events: events.map(({ ownerId, ownerKey, ...record }) => ({
      ...record,
      owner_id: ownerId,
      owner_key: ownerKey,
    })),
    levels: levels.map(({ ownerId, text }) => ({ owner_id: ownerId, text })),
  };
}

const anyDocument = z.object({ softquota: z.literal('backup'), format: whole, version: z.string() });

/** Parses a backup; throws `invalid`, naming `from`, if it is not one that can be restored completely. */
export function parseBackup(text: string, from: string): Backup {
  const refused = (why: string) => new SoftquotaError('invalid', `${printable(from)}: ${why}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    const why = messageOf(cause);
    throw refused(`not a complete backup of softquota (${printable(why)})`);
  }
  const any = anyDocument.safeParse(json);
  if (!any.success) throw refused('no backup of softquota');
  if (any.data.format > format) {
    throw refused(
      `made by softquota ${printable(any.data.version)}, in format ${any.data.format}; this version knows formats up to ` +
        `${format}. Restore it with that softquota or a newer one`,
    );
  }
  const parsed = document.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = issueLines(parsed.error);
  throw refused(`the backup has errors: ${printable(faults.slice(0, 10).join('; '))}`);
}

/** Counts of a restore, as `softquota restore --json` prints them. */
export interface Restored {
  readonly owners: number;
  readonly policy: number;
  readonly reported_units: number;
  readonly events: number;
  /** Counts of entries that were removed, since the backup does not have them. */
  readonly removed_owners: number;
  readonly removed_policy: number;
  readonly removed_units: number;
}

/**
 * Writes the backup into the store in one write. Rejects with `conflict` if it is not empty, unless
 * `replace`.
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
    // The deltas in the store are newer than the backup.
    goneDeltas: kept.deltas.map(({ seq }) => seq),
    owners: backup.owners,
    documents: [...backup.policy, ...graces],
    // A new generation, since other hosts may have changed the shared policy after the backup.
    ...(kept.replicated === null ? {} : { replicated: newGeneration(kept.replicated.version + 1) }),
    units,
    goneEventsBefore: Number.MAX_SAFE_INTEGER,
    goneLevels: levels.map(({ ownerId }) => ownerId),
    events: backup.events.map(({ owner_id: ownerId, owner_key: ownerKey, ...record }) => ({
      ...record,
      ownerId,
      ownerKey,
    })),
    levels: backup.levels.map(({ owner_id: ownerId, text }) => ({ ownerId, text })),
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
