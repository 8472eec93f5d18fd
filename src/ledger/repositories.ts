/** The bytes of one repository: its own, and those of LFS units that belong to it by their names. */

import {
  isRepository,
  type Leaf,
  leafIndex,
  noUsage,
  type StoredRepository,
  type Usage,
} from '../quota/index.ts';
import { filterMapInSlices } from '../slices.ts';
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
  /** The name by which its forge knows it; null: its path says it. */
  readonly title: string | null;
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
  title,
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
  const stored = storedIn(owner, name ?? lastName(path), units);
  const named = title === null ? stored : { ...stored, name: title };
  return { ...named, reserved: reservations.into(ownerKey, ids, besides) };
}

/** A repository that an owner has on this host. */
export interface OwnRepository {
  readonly path: string;
  readonly repository: StoredRepository;
  /** The kind of data that it is itself. */
  readonly leaf: Leaf;
}

/** All repositories that an owner has on this host, in no order. null: see `filterMapInSlices`. */
export function* repositoriesOf(
  index: Pick<UsageIndex, 'account' | 'owners'>,
  owner: Pick<OwnerUsage, 'name' | 'unreachable'>,
  titleOf: (path: string) => string | null,
): Generator<OwnRepository | null> {
  const keyOf = (name: string) => index.owners.keyOf(name);
  const ownerKey = keyOf(owner.name);
  const nameOf = (place: string) => nameBehind(place, part => keyOf(part) === ownerKey);
  const units = index.account(owner.name)?.units ?? [];
  const byName = new Map<string, UnitRecord[]>();
  const byPlace = new Map<string, UnitRecord[]>();
  for (const unit of filterMapInSlices(units, each => (each.leaf === lfs ? each : undefined))) {
    yield null;
    if (unit === null) continue;
    const name = nameOf(unit.name);
    if (name !== null) listAt(byName, keyOf(name), unit);
    for (const place of placesAround(unit.name)) listAt(byPlace, place, unit);
  }
  const found = filterMapInSlices(units, each =>
    each.kind === 'walked' && isRepository(each.leaf) ? each : undefined,
  );
  for (const unit of found) {
    if (unit === null) {
      yield null;
      continue;
    }
    const name = nameOf(unit.name);
    const ofName = name === null ? [] : (byName.get(keyOf(name)) ?? []);
    const own = [...new Set([unit, ...ofName, ...(byPlace.get(unit.name) ?? [])])];
    const stored = storedIn(owner, name ?? lastName(unit.name), own);
    const repository = { ...stored, name: titleOf(unit.name) ?? stored.name, reserved: null };
    yield { path: unit.name, repository, leaf: unit.leaf };
  }
}

function storedIn(
  owner: Pick<OwnerUsage, 'name' | 'unreachable'>,
  name: string,
  units: readonly UnitRecord[],
): Pick<StoredRepository, 'name' | 'unreachable' | 'usage'> {
  return {
    name: `${owner.name}/${name}`,
    usage: sumOf(units, ({ bytes }) => bytes),
    unreachable: owner.unreachable === null ? null : sumOf(units, unreachableIn),
  };
}

function listAt(lists: Map<string, UnitRecord[]>, key: string, unit: UnitRecord): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [unit]);
  else list.push(unit);
}

/** The directories around an absolute path. */
function* placesAround(path: string): Generator<string> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    yield path.slice(0, end);
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
