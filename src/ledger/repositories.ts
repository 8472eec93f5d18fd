/** Adds up the bytes of a repository: its own, and those of LFS units that belong to it by their names. */

import {
  isRepository,
  type Leaf,
  leafIndex,
  noUsage,
  type StoredRepository,
  type Usage,
} from '../quota/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { filterMapInSlices } from '../turns.ts';
import { unreachableIn } from './account.ts';
import type { OwnerUsage } from './options.ts';
import type { Reservations } from './reservations.ts';
import { addCapped, type UsageIndex } from './usage-index.ts';

interface AskedRepository {
  readonly usage: OwnersUnits & Pick<UsageIndex, 'unit'>;
  readonly reservations: Pick<Reservations, 'where'>;
  readonly owner: AskedOwner;
  readonly path: string;
  readonly titleOf: TitleOf;
  /** The ids of reservations that do not count. */
  readonly besides: ReadonlySet<string>;
}

type OwnersUnits = Pick<UsageIndex, 'account' | 'owners'>;

type AskedOwner = Pick<OwnerUsage, 'name' | 'unreachable'>;

/** Returns the forge's name for the repository at a path; null: the name follows from the path. */
type TitleOf = (path: string) => string | null;

/** The path of a repository, and the unit at that path if there is one. */
interface Place {
  readonly path: string;
  readonly unit?: UnitRecord | undefined;
}

interface FoundRepository {
  readonly path: string;
  readonly repository: StoredRepository;
  /** The repository's own unit, and the units of its LFS objects. */
  readonly units: readonly UnitRecord[];
}

const lfs: Leaf = 'size:git:lfs';

/**
 * Returns the bytes of an owner's repository at a path: 0 if there is none yet, null if it belongs to another
 * owner.
 */
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
    const reserved = reservations.where(
      ownerKey,
      ({ id, unit: into }) => into !== null && ids.has(into) && !besides.has(id),
    );
    return { ...found.repository, reserved };
  }
  return null;
}

/** A repository that an owner has on this host. */
export interface OwnRepository {
  readonly path: string;
  readonly repository: StoredRepository;
  /** The leaf of the repository itself, without its LFS objects. */
  readonly leaf: Leaf;
}

/** Yields all repositories of an owner on this host, unordered, with nulls as in `filterMapInSlices`. */
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

/** Yields the owner's repository at one place, or all of them, with nulls as in `filterMapInSlices`. */
function* repositoriesAt(
  only: Place | null,
  index: OwnersUnits,
  owner: AskedOwner,
  titleOf: TitleOf,
): Generator<FoundRepository | null> {
  const keyOf = (name: string) => index.owners.keyOf(name);
  const ownerKey = keyOf(owner.name);
  const lastKey = (place: string) => keyOf(lastName(place));
  const last = only === null ? null : lastKey(only.path);
  const nameOf = (place: string) => nameBehind(place, part => keyOf(part) === ownerKey);
  const byName = new Map<string, UnitRecord[]>();
  const byPlace = new Map<string, UnitRecord[]>();
  const all = index.account(owner.name)?.units ?? [];
  const ofLfs = filterMapInSlices(all, unit => (unit.leaf === lfs ? unit : undefined));
  for (const unit of ofLfs) {
    yield null;
    if (unit === null) continue;
    // Skips the longer look at the whole path for most units.
    const name = last === null || lastKey(unit.name) === last ? nameOf(unit.name) : null;
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

/** Yields the directories above an absolute path, nearest first. */
function* placesAround(path: string): Generator<string> {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    yield path.slice(0, end);
}

/** Returns the part of a path after the owner's name, without `.git`; null if the name is not in the path. */
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
  for (const unit of units) addCapped(sums, leafIndex(unit.leaf), bytesOf(unit));
  return sums;
}
