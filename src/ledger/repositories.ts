/** The bytes of one repository: its own, and those of LFS units that belong to it by their names. */

import { type Leaf, leafIndex, noUsage, type StoredRepository, type Usage } from '../quota/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { unreachableIn } from './account.ts';
import type { OwnerUsage } from './options.ts';
import type { Reservations } from './reservations.ts';
import type { UsageIndex } from './usage-index.ts';

interface AskedRepository {
  readonly usage: Pick<UsageIndex, 'account' | 'owners' | 'unit'>;
  readonly reservations: Pick<Reservations, 'into'>;
  readonly owner: Pick<OwnerUsage, 'name' | 'unreachable'>;
  readonly path: string;
  /** The ids of reservations that do not count. */
  readonly besides: ReadonlySet<string>;
}

const lfs: Leaf = 'size:git:lfs';

/** One that is not there yet stores nothing. Null: the repository at this path is another owner's. */
export function storedRepository({
  usage: index,
  reservations,
  owner,
  path,
  besides,
}: AskedRepository): StoredRepository | null {
  const { owners } = index;
  const ownerKey = owners.keyOf(owner.name);
  const own = index.unit(path);
  if (own !== undefined && (own.owner === null || owners.keyOf(own.owner) !== ownerKey)) return null;
  const nameOf = (place: string) => nameBehind(place, part => owners.keyOf(part) === ownerKey);
  const name = nameOf(path);
  const isRepositorys = (other: string | null) =>
    name !== null && other !== null && owners.keyOf(name) === owners.keyOf(other);
  const units = own === undefined ? [] : [own];
  for (const unit of index.account(owner.name)?.units ?? []) {
    if (unit.leaf !== lfs || unit === own) continue;
    if (unit.name.startsWith(`${path}/`) || isRepositorys(nameOf(unit.name))) units.push(unit);
  }
  const ids = new Set([path, ...units.map(({ id }) => id)]);
  return {
    name: `${owner.name}/${name ?? lastName(path)}`,
    usage: sumOf(units, ({ bytes }) => bytes),
    reserved: reservations.into(ownerKey, ids, besides),
    unreachable: owner.unreachable === null ? null : sumOf(units, unreachableIn),
  };
}

/** Returns what follows the owner's name in a path, without `.git`; null where it is not that owner's. */
function nameBehind(path: string, isOwner: (name: string) => boolean): string | null {
  const names = withoutGit(path).split('/');
  const at = names.slice(0, -1).findLastIndex(isOwner);
  return at === -1 ? null : names.slice(at + 1).join('/');
}

function lastName(path: string): string {
  return withoutGit(path.slice(path.lastIndexOf('/') + 1));
}

function withoutGit(path: string): string {
  return path.replace(/\.git$/, '');
}

function sumOf(units: readonly UnitRecord[], bytesOf: (unit: UnitRecord) => number): Usage {
  const sums = [...noUsage];
  for (const unit of units) {
    const index = leafIndex(unit.leaf);
    sums[index] = Math.min((sums[index] ?? 0) + bytesOf(unit), Number.MAX_SAFE_INTEGER);
  }
  return sums;
}
