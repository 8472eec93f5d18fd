/** Origins of the bytes of owners: found on a disk, reported, from the forge, or stored on other hosts. */

import { noRow } from '../columns.ts';
import { leaves, type Usage } from '../quota/index.ts';
import { inSlices } from '../slices.ts';
import type { Account } from './account.ts';
import { forgeSource } from './source-share.ts';
import type { UnitTable } from './unit-table.ts';

/** Bytes by leaf. What walks found is all the rest, with what programs said of it since. */
export interface Origins {
  /** By programs: units with their bytes, and whole sets. */
  readonly reported: Usage;
  /** By the forge's database. */
  readonly forge: Usage;
  /** Stored on other hosts, however these know it. */
  readonly otherHosts: Usage;
}

export async function originsOf(table: UnitTable, accounts: Iterable<Account>): Promise<Origins> {
  const origins = { reported: zeros(), forge: zeros(), otherHosts: zeros() };
  await inSlices(table.rows(), row => {
    if (table.isWalked(row) || table.accountOf(row) === noRow) return;
    add(origins.reported, table.leafIndex(row), table.bytes(row));
  });
  await inSlices(accounts, ({ sources, shares }) => {
    for (const { source, bytes } of sources) {
      const sums = source.name === forgeSource ? origins.forge : origins.reported;
      for (const [index, each] of bytes.entries()) add(sums, index, each);
    }
    for (const { bytes } of shares) {
      for (const [index, leaf] of leaves.entries()) add(origins.otherHosts, index, bytes[leaf] ?? 0);
    }
  });
  return origins;
}

function zeros(): number[] {
  return leaves.map(() => 0);
}

function add(sums: number[], index: number, bytes: number): void {
  sums[index] = Math.min((sums[index] ?? 0) + bytes, Number.MAX_SAFE_INTEGER);
}
