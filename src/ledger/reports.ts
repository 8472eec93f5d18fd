/**
 * The reports of trusted programs: units that no walk finds, and bytes that were added or removed between
 * walks.
 *
 * A report is written before it counts, because its acknowledgement promises that it survives a restart.
 */

import { SoftquotaError } from '../errors.ts';
import { addBytes, bytesUnder, type Leaf, leafMask, noUsage } from '../quota/index.ts';
import type { DeltaRecord, OwnerRecord, UnitRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import type { Account } from './account.ts';
import type { LedgerParts } from './options.ts';

/** Milliseconds that a delta counts if its owner has no walked units of the leaf. */
const deltaLapseMs = 3_600_000;
const lapseCheckMs = 60_000;

export class Reports {
  readonly #options: LedgerParts;
  /** The keys of owners with deltas. */
  readonly #unsettled = new Set<string>();
  readonly #lapse: NodeJS.Timeout;

  constructor(options: LedgerParts) {
    this.#options = options;
    this.#lapse = setInterval(() => this.settle(), lapseCheckMs).unref();
  }

  /**
   * Records bytes that a trusted program reports as added or removed between walks. They count once they are
   * written, until each walked unit of that owner and leaf was walked again, or without such units, for an
   * hour. Rejects with `store_away` or `sum_too_large`; then they do not count.
   */
  async addDelta(ownerName: string, leaf: Leaf, bytes: number): Promise<void> {
    const { writeBehind, clock, nextSeq } = this.#options;
    const at = clock.wall();
    const owner = this.#ownerFor(ownerName, at);
    this.#mustFit(owner, leaf, bytes);
    const record: DeltaRecord = { seq: nextSeq(), owner: owner.name, leaf, bytes, at };
    await writeBehind.writeFirst({ deltas: [record], owners: [owner] });
    const account = this.#opened(owner);
    account.addDelta({ record, lapsesAt: clock.monotonic() + deltaLapseMs });
    this.#unsettled.add(owner.key);
    this.settle([owner.key]);
  }

  /** Sets a unit's size; 0 removes the unit. Rejects with `store_away` or `sum_too_large`. */
  async reportUnit(ownerName: string, leaf: Leaf, name: string, bytes: number): Promise<void> {
    const { usage, writeBehind, clock, host, nextSeq, tell } = this.#options;
    const measuredAt = clock.wall();
    const owner = this.#ownerFor(ownerName, measuredAt);
    const id = reportedId(owner.key, leaf, name);
    const unit: UnitRecord = {
      id,
      kind: 'reported',
      host,
      name,
      owner: owner.name,
      leaf,
      bytes,
      files: 0,
      partial: false,
      measuredAt,
      seq: nextSeq(),
    };
    this.#mustFit(owner, leaf, bytes - (usage.unit(id)?.bytes ?? 0));
    await writeBehind.writeFirst({
      owners: [owner],
      ...(bytes === 0 ? { goneUnits: [id] } : { units: [unit] }),
    });
    this.#opened(owner);
    // Concurrent reports of one unit take effect in the order in which the store wrote them.
    const known = usage.unit(id);
    if (bytes > 0) usage.put(unit);
    else if (known !== undefined) usage.remove(known);
    else tell(owner.key);
  }

  /** Loads a delta of the store. Call `settle` after the last one. */
  load(account: Account, record: DeltaRecord): void {
    account.addDelta({ record, lapsesAt: this.#lapsesAt(record) });
    this.#unsettled.add(account.ownerKey);
  }

  /** Drops deltas of owners that have lapsed, or that walks have overtaken; default: of all owners. */
  settle(ownerKeys: Iterable<string> = this.#unsettled): void {
    const { clock, usage, writeBehind } = this.#options;
    const now = clock.monotonic();
    for (const key of ownerKeys) {
      const account = usage.accountByKey(key);
      for (const { seq } of account?.settleDeltas(now) ?? []) writeBehind.note({ goneDeltas: [seq] });
      if (!account?.hasDeltas) this.#unsettled.delete(key);
    }
  }

  settleOwnersOf(...units: readonly (UnitRecord | undefined)[]): void {
    if (this.#unsettled.size === 0) return;
    const { usage } = this.#options;
    this.settle(units.flatMap(unit => (unit?.owner == null ? [] : usage.owners.keyOf(unit.owner))));
  }

  close(): void {
    clearInterval(this.#lapse);
  }

  #mustFit({ name }: OwnerRecord, leaf: Leaf, growthBytes: number): void {
    mustFit(
      this.#options.usage.account(name),
      growthBytes,
      `${growthBytes} more bytes of ${leaf} would bring ${printable(name)}'s usage past 2^53 - 1 bytes`,
    );
  }

  #ownerFor(name: string, now: number): OwnerRecord {
    const { usage } = this.#options;
    return usage.owners.named(name) ?? usage.owners.expect(name, now);
  }

  /** Opens an account after a write, during which its owner may have got another name. */
  #opened(written: OwnerRecord): Account {
    const { usage, writeBehind } = this.#options;
    const owner = this.#ownerFor(written.name, written.since);
    if (owner.id !== written.id) writeBehind.note({ owners: [owner] });
    return usage.open(owner);
  }

  /** Returns an hour after the report, but at most an hour from now, even if somebody set the clock. */
  #lapsesAt({ at }: DeltaRecord): number {
    const { clock } = this.#options;
    const passedMs = Math.min(Math.max(clock.wall() - at, 0), deltaLapseMs);
    return clock.monotonic() + deltaLapseMs - passedMs;
  }
}

/** Returns the id of a reported unit. */
export function reportedId(ownerKey: string, leaf: Leaf, name: string): string {
  return `${ownerKey}\0${leaf}\0${name}`;
}

/** Throws `sum_too_large` with this message if the account cannot count so many more bytes. */
export function mustFit(account: Account | undefined, growthBytes: number, words: string): void {
  if (growthBytes <= 0) return;
  try {
    addBytes(bytesUnder(account?.usage ?? noUsage, leafMask('size:all')), growthBytes);
  } catch (cause) {
    throw new SoftquotaError('sum_too_large', words, { cause });
  }
}
