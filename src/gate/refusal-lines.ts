/**
 * The lines of the file: fields with tabs between, so that a script compares the beginning of a line as it
 * is, with no pattern.
 *
 *     softquota refused  1  2026-11-21T09:14:03Z  CASE=fold
 *     path   /srv/git/alice/app.git  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *     owner  alice  size:repos:private  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *
 * The first says the version of the form, when it was written, and whether owners' names compare without the
 * case of ASCII letters; they stand as they are compared. `path` is a repository's or a wiki's directory,
 * because a script cannot read storage templates. Bytes of a path that are no UTF-8 stand as they are.
 * A path or a name with a control character has no line.
 */

import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import {
  type FullDisk,
  fullDiskWords,
  isRepository,
  refusal,
  type Subject,
  subjects,
} from '../quota/index.ts';

export function headerLine(now: number, foldCase: boolean): string {
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return `softquota refused\t1\t${time}\tCASE=${foldCase ? 'fold' : 'keep'}\n`;
}

/** The part of the ledger that is read. */
export type RefusalLedger = Pick<Ledger, 'deciderFor' | 'documents' | 'ownerUsage' | 'settings' | 'units'>;

/** The disks on which nothing may grow. */
export interface FullDisks {
  /** Tells whether there are any. */
  readonly areAny: boolean;
  /**
   * The full one on which this would grow; null: there is none. Without a path, all with such data are full.
   */
  at(path: string | null, subject: Subject): FullDisk | null;
}

/** Tells whether the owner is refused anything now. */
export function isRefused(ledger: RefusalLedger, disks: FullDisks, ownerKey: string): boolean {
  return refusedLines(ledger, disks, ownerKey).next().done !== true;
}

/**
 * Returns the lines for everything that the owner is refused now, each with its line end; paths are as in
 * layout.
 */
export function* refusedLines(ledger: RefusalLedger, disks: FullDisks, ownerKey: string): Generator<string> {
  const messages = new Map<Subject, string>();
  const { enabled, mode } = ledger.settings;
  const hasFull = disks.areAny && enabled && mode === 'enforce';
  for (const [subject, message] of refusals(ledger, hasFull ? disks : null, ownerKey)) {
    messages.set(subject, message);
    if (isWritable(ownerKey)) yield `owner\t${ownerKey}\t${subject}\t${message}\n`;
  }
  if (messages.size === 0 && !hasFull) return;
  for (const { kind, name, leaf } of ledger.units.unitsOf(ownerKey)) {
    if (kind !== 'walked' || !isRepository(leaf) || !isWritable(name)) continue;
    const disk = hasFull ? disks.at(name, leaf) : null;
    const message = disk === null ? messages.get(leaf) : diskMessage(disk);
    if (message !== undefined) {
      yield `path\t${name}\t${message}\n`;
    }
  }
}

/** Each with the first line that a pusher would read. */
function* refusals(
  ledger: RefusalLedger,
  disks: FullDisks | null,
  ownerKey: string,
): Generator<readonly [Subject, string]> {
  if (ledger.settings.mode === 'report') return;
  const owner = exactly(() => ledger.ownerUsage(ownerKey));
  if (owner === null) return;
  const decide = ledger.deciderFor(owner);
  for (const subject of subjects) {
    const disk = disks?.at(null, subject) ?? null;
    const decision = disk === null ? exactly(() => decide(subject)) : null;
    if (disk !== null) yield [subject, diskMessage(disk)];
    else if (decision !== null && !decision.allowed) yield [subject, refusal(owner.name, subject, decision)];
  }
}

function diskMessage(disk: FullDisk): string {
  return `${fullDiskWords(disk)}.`;
}

/** Null where bytes cannot be added up: nobody decides by them. */
function exactly<Known>(known: () => Known): Known | null {
  try {
    return known();
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}

function isWritable(text: string): boolean {
  return !/[\0-\x1f\x7f]/.test(text);
}
