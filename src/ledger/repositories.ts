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
  readonly usage: OwnersUnits & Pick<UsageIndex, 'unit'>;
  readonly reservations: Pick<Reservations, 'into'>;
  readonly owner: AskedOwner;
  readonly path: string;
  readonly titleOf: TitleOf;
  /** The ids of reservations that do not count. */
  readonly besides: ReadonlySet<string>;
}

type OwnersUnits = Pick<UsageIndex, 'account' | 'owners'>;

type AskedOwner = Pick<OwnerUsage, 'name' | 'unreachable'>;

/** The name by which its forge knows the repository at a path; null: its path says it. */
type TitleOf = (path: string) => string | null;

/** A place of a repository, with the unit there. */
interface Place {
  readonly path: string;
  readonly unit?: UnitRecord | undefined;
}

interface FoundRepository {
  readonly path: string;
  readonly repository: StoredRepository;
  /** Its own one and those of its LFS objects. */
  readonly units: readonly UnitRecord[];
}

const lfs: Leaf = 'size:git:lfs';

/** One that is not there yet stores nothing. Null: the repository at this path is another owner's. */
export function storedRepository({
  usage: index,
  reservations,
  owner,
  path,
  titleOf,
  besides,
}: AskedRepository): StoredRepository | null {
  const { owners } = index;
  const ownerKey = owners.keyOf(owner.name);
  const unit = index.unit(path);
  if (unit !== undefined && (unit.owner === null || owners.keyOf(unit.owner) !== ownerKey)) return null;
  for (const found of repositoriesAt({ path, unit }, index, owner, titleOf)) {
    if (found === null) continue;
    const ids = new Set([path, ...found.units.map(({ id }) => id)]);
    return { ...found.repository, reserved: reservations.into(ownerKey, ids, besides) };
  }
  return null;
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
  index: OwnersUnits,
  owner: AskedOwner,
  titleOf: TitleOf,
): Generator<OwnRepository | null> {
  for (const found of repositoriesAt(null, index, owner, titleOf)) {
    const leaf = found?.units[0]?.leaf;
    yield found === null || leaf === undefined ? null : { ...found, leaf };
  }
}

/** The repository of an owner at one place, or all of them. null: see `filterMapInSlices`. */
function* repositoriesAt(
  only: Place | null,
  index: OwnersUnits,
  owner: AskedOwner,
  titleOf: TitleOf,
): Generator<FoundRepository | null> {
  const keyOf = (name: string) => index.owners.keyOf(name);
  const ownerKey = keyOf(owner.name);
  const nameOf = (place: string) => nameBehind(place, part => keyOf(part) === ownerKey);
  const byName = new Map<string, UnitRecord[]>();
  const byPlace = new Map<string, UnitRecord[]>();
  const all = index.account(owner.name)?.units ?? [];
  const ofLfs = filterMapInSlices(all, unit => (unit.leaf === lfs ? unit : undefined));
  for (const unit of ofLfs) {
    yield null;
    if (unit === null) continue;
    const name = nameOf(unit.name);
    if (name !== null) listAt(byName, keyOf(name), unit);
    const around = only === null || unit.name.startsWith(`${only.path}/`) ? placesAround(unit.name) : [];
    for (const place of around) listAt(byPlace, place, unit);
  }
  const ofRepositories = filterMapInSlices(all, unit =>
    unit.kind === 'walked' && isRepository(unit.leaf) ? { path: unit.name, unit } : undefined,
  );
  for (const place of only === null ? ofRepositories : [only]) {
    if (place === null) {
      yield null;
      continue;
    }
    const { path, unit } = place;
    const name = nameOf(path);
    const ofName = name === null ? [] : (byName.get(keyOf(name)) ?? []);
    const own = unit === undefined ? [] : [unit];
    const units = [...new Set([...own, ...ofName, ...(byPlace.get(path) ?? [])])];
    const repository = {
      name: titleOf(path) ?? `${owner.name}/${name ?? lastName(path)}`,
      usage: sumOf(units, ({ bytes }) => bytes),
      unreachable: owner.unreachable === null ? null : sumOf(units, unreachableIn),
      reserved: null,
    };
    yield { path, repository, units };
  }
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
