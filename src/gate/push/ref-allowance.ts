/**
 * Refs that pushes without objects write over the limit: each is a file, and git makes its directories, so
 * there is an end to them. Counting starts from 0 when the owner comes over the limit, or the daemon starts.
 */

/** One takes some hundred bytes. Of more, those of the owner who began first are forgotten. */
const mostRepositories = 50_000;
const mostNames = 1000;
const mostBytes = 1_000_000;

interface Written {
  readonly names: number;
  readonly bytes: number;
}

const nothing: Written = { names: 0, bytes: 0 };

export class RefAllowance {
  /** By owner and leaf, since a limit may be for one leaf only; then by unit. */
  readonly #owners = new Map<string, Map<string, Written>>();
  #repositories = 0;

  /** Counts refs of a push into this unit. False: they are too many, and nothing is counted. */
  take(owner: string, unit: string, { names, bytes }: Written): boolean {
    const units = this.#owners.get(owner) ?? new Map<string, Written>();
    const before = units.get(unit) ?? nothing;
    const whole = { names: before.names + names, bytes: before.bytes + bytes };
    if (whole.names > mostNames || whole.bytes > mostBytes) return false;
    if (!units.has(unit)) this.#repositories++;
    units.set(unit, whole);
    this.#owners.set(owner, units);
    if (this.#repositories > mostRepositories) this.#forgetFirst(owner);
    return true;
  }

  /** The owner is below the limit. */
  reset(owner: string): void {
    this.#repositories -= this.#owners.get(owner)?.size ?? 0;
    this.#owners.delete(owner);
  }

  #forgetFirst(except: string): void {
    for (const owner of this.#owners.keys()) {
      if (owner === except) continue;
      this.reset(owner);
      return;
    }
    this.reset(except);
  }
}
