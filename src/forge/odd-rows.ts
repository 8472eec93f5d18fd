/**
 * Rows that no forge writes: a negative size, a size above that of all disks, or a name that is impossible or
 * another owner's. One such row must not prevent reading the others.
 *
 * The last valid size of such a row still counts for its owner. If there is none since softquota was started,
 * or the row is beyond the first 5,000,000 of its table, its file on the disk counts for nobody.
 */

import { statSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { nameFault, ownerKey } from '../quota/index.ts';
import { shortened } from '../text.ts';
import { type AboutRow, mostCharacters, type SizeJudge } from './database.ts';
import { type ForgeOwner, firstRowOf, type OddRow, type OddRows } from './messages.ts';

/** Limit of the listed rows; the others are counted. */
const mostNamed = 1000;
/** Limit of a valid size: no file is as large, and a table of such sizes can be added up exactly. */
const mostBytes = 2 ** 50;

/** Limit of the rows of a table whose sizes are remembered: 80 MB outside of the thread's heap. */
const mostRemembered = 5_000_000;
/** Number of rows by which the columns grow. */
const rowsAtOnce = 64 * 1024;

interface PartFound {
  readonly named: OddRow[];
  count: number;
  /** Rows that count for nobody. */
  unowned: number;
  unownedBytes: number;
}

/** Sizes by the ids of rows, in columns that grow. */
class RowSizes {
  #ids = growingColumn();
  #sizes = growingColumn();
  #rows = 0;
  #doAscend = true;

  add(id: number, size: number): void {
    if (this.#rows === mostRemembered) return;
    if (this.#rows === this.#ids.length) this.#resize(Math.min(this.#rows + rowsAtOnce, mostRemembered));
    this.#doAscend &&= this.#rows === 0 || (this.#ids[this.#rows - 1] ?? 0) <= id;
    this.#ids[this.#rows] = id;
    this.#sizes[this.#rows] = size;
    this.#rows++;
  }

  /** Ends the filling. Ids may be unordered: Gogs has none, so hashes take their place. */
  end(): void {
    this.#resize(this.#rows);
    if (this.#doAscend) return;
    const [ids, sizes] = [this.#ids, this.#sizes];
    const order = Uint32Array.from(ids.keys()).sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0));
    this.#ids = Float64Array.from(order, at => ids[at] ?? 0);
    this.#sizes = Float64Array.from(order, at => sizes[at] ?? 0);
  }

  of(id: number): number | null {
    const row = firstRowOf(this.#ids, id);
    return this.#ids[row] === id ? (this.#sizes[row] ?? null) : null;
  }

  #resize(rows: number): void {
    for (const column of [this.#ids, this.#sizes]) column.buffer.resize(rows * column.BYTES_PER_ELEMENT);
  }
}

function growingColumn(): Float64Array<ArrayBuffer> {
  return new Float64Array(new ArrayBuffer(0, { maxByteLength: mostRemembered * 8 }));
}

export class RowJudge implements SizeJudge {
  /** Faulty rows by parts of a reading, each of which is replaced as a whole. */
  readonly #parts = new Map<string, PartFound>();
  #part: PartFound = { named: [], count: 0, unowned: 0, unownedBytes: 0 };
  /** Sizes by table and row, from the last reading. */
  readonly #sizes = new Map<string, RowSizes>();
  #owners: ReadonlyMap<number, ForgeOwner> = new Map();
  /** Keys of the names that owners of this reading have. */
  readonly #taken = new Set<string>();

  /** Starts a part that is read anew; all following rows belong to it. */
  begin(part: string): void {
    this.#part = { named: [], count: 0, unowned: 0, unownedBytes: 0 };
    this.#parts.set(part, this.#part);
    this.#taken.clear();
  }

  sizes(table: string): ReturnType<SizeJudge['sizes']> {
    const before = this.#sizes.get(table);
    const sizes = new RowSizes();
    const judged = (id: number, value: unknown, about: () => AboutRow): number | null => {
      const size = Number(value ?? 0);
      const isGood = Number.isSafeInteger(size) && size >= 0 && size <= mostBytes;
      const counted = isGood || before === undefined ? null : before.of(id);
      if (!isGood)
        this.#found(`${table} ${id}`, `its size is ${String(value).slice(0, 40)}`, about(), counted);
      const known = isGood ? size : counted;
      if (known !== null) sizes.add(id, known);
      return known;
    };
    const end = () => {
      sizes.end();
      this.#sizes.set(table, sizes);
    };
    return { judged, end };
  }

  /** Returns the owner, or the last valid version if the name is impossible or taken; null: none. */
  owner(owner: ForgeOwner): ForgeOwner | null {
    const fault = nameFault(owner.name) ?? this.#takenFault(owner.name);
    if (fault === null) return owner;
    const before = this.#owners.get(owner.id) ?? null;
    const known = before === null || this.#takenFault(before.name) !== null ? null : before;
    const about = { owner: known?.name ?? shortened(owner.name), path: null };
    this.#note(`user ${owner.id}`, `its name cannot be taken: ${fault}`, about, known === null ? null : 0);
    return known;
  }

  /** Takes the name unless another owner has it: a set of figures has each owner and leaf once. */
  #takenFault(name: string): string | null {
    const key = ownerKey(name, true);
    if (this.#taken.has(key)) return 'another owner has it';
    this.#taken.add(key);
    return null;
  }

  rememberOwners(owners: ReadonlyMap<number, ForgeOwner>): void {
    this.#owners = new Map(owners);
  }

  /** Returns true if a path can lead to a repository of this name, `owner/name`. */
  isName(name: string, id: number | null): boolean {
    const isName = name.length < mostCharacters && !/\p{Cc}/u.test(name);
    const about = { owner: null, path: shortened(name) };
    if (!isName) this.#note(`repository ${id ?? ''}`.trim(), 'its name cannot be taken', about, 0);
    return isName;
  }

  get found(): OddRows {
    const parts = [...this.#parts.values()];
    const sum = (key: 'count' | 'unowned' | 'unownedBytes') =>
      parts.reduce((all, part) => all + part[key], 0);
    return {
      first: parts.flatMap(({ named }) => named).slice(0, mostNamed),
      count: sum('count'),
      unowned: sum('unowned'),
      unownedBytes: sum('unownedBytes'),
    };
  }

  #found(row: string, why: string, about: AboutRow, counted: number | null): void {
    const bytes = counted === null && about.path !== null ? sizeOnDisk(about.path) : 0;
    if (counted === null) {
      this.#part.unowned++;
      this.#part.unownedBytes += bytes;
    }
    this.#note(row, why, about, counted);
  }

  #note(row: string, why: string, about: AboutRow, counted: number | null): void {
    this.#part.count++;
    if (this.#part.named.length < mostNamed) {
      this.#part.named.push({ row, why, ...about, isCounted: counted !== null });
    }
  }
}

/** Returns 0 if the file does not exist or cannot be read; its path is listed anyway. */
function sizeOnDisk(path: string): number {
  try {
    const stats = statSync(path);
    return stats.isFile() ? stats.size : 0;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return 0;
  }
}
