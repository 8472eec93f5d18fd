/** The document: what is in it, and the reading of one. */

import { z } from 'zod';
import { messageOf, SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { graceKind } from '../policy/index.ts';
import { isLeaf } from '../quota/index.ts';
import {
  documentShape,
  type EventRecord,
  eventPages,
  type LevelRecord,
  ownerShape,
  whole,
} from '../store/index.ts';
import { issueLines, printable } from '../text/index.ts';
import { version } from '../version.ts';

/**
 * The newest format. It grows where an older softquota could not restore all that is in a document; a
 * document in which nothing needs it has an older one.
 */
const format = 2;
const formatWithoutGraces = 1;

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
  id: z.string(),
  kind: z.string(),
  at: whole,
  owner_id: whole.nullable(),
  owner_key: z.string().nullable(),
  text: z.string(),
});

const level = z.strictObject({ owner_id: whole, text: z.string() });

/** Times are milliseconds since 1970; each `text` is as the store has it. */
const document = z.strictObject({
  softquota: z.literal('backup'),
  format: z.literal([formatWithoutGraces, format]),
  /** Version of the softquota that made it. */
  version: z.string(),
  host: z.string(),
  taken_at: whole,
  owners: z.array(ownerShape),
  policy: z.array(documentShape),
  /** Times since which owners are over limits that have a grace; left out if nobody is. */
  graces: z.array(documentShape.extend({ kind: z.literal(graceKind.name) })).optional(),
  /** The units that programs reported, which no walk finds. */
  reported_units: z.array(reportedUnit),
  /** Newest first. */
  events: z.array(event),
  levels: z.array(level),
});

export type Backup = z.infer<typeof document>;

/** Reads everything that a backup holds from a running daemon. Rejects as reading the store does. */
export async function backupOf(
  ledger: Pick<Ledger, 'documents' | 'eventLog' | 'kept' | 'units'>,
  host: string,
): Promise<Backup> {
  // Changes that wait to be written are a part of it; while the store takes nothing they have to be left
  // out.
  await ledger.kept();
  const events: EventRecord[] = [];
  for await (const page of eventPages(ledger.eventLog)) events.push(...page);
  const levels = await ledger.eventLog.levels();
  const graces = [...ledger.documents.volatileRecords()].flatMap(({ kind, key, text }) =>
    kind === graceKind.name ? [{ kind: graceKind.name, key, text }] : [],
  );
  return {
    softquota: 'backup',
    format: graces.length === 0 ? formatWithoutGraces : format,
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

/** Events, and how near to their limits owners were when it was last told. */
interface Happened {
  readonly events: readonly EventRecord[];
  readonly levels: readonly LevelRecord[];
}

/** Returns what happened as the store keeps it. */
export function happenedIn({ events, levels }: Pick<Backup, 'events' | 'levels'>): Happened {
  return {
    events: events.map(({ owner_id: ownerId, owner_key: ownerKey, ...record }) => ({
      ...record,
      ownerId,
      ownerKey,
    })),
    levels: levels.map(({ owner_id: ownerId, text }) => ({ ownerId, text })),
  };
}

const anyDocument = z.object({ softquota: z.literal('backup'), format: whole, version: z.string() });

/** Reads a document; throws `invalid`, naming `from`, where it is none that can be restored whole. */
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
