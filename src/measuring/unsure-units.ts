/** Units in which pushes brought what nobody measured. The next walk of such a unit counts as it is. */

/** Anybody may say that a unit has changed. */
const mostUnits = 100_000;

export class UnsureUnits {
  /** The first and the last place in the order of walks at which something came. */
  readonly #units = new Map<string, { readonly first: number; readonly last: number }>();

  /** Something came, or comes now: a walk that took its place in the order later sees it. */
  add(unit: string, seq: number): void {
    const first = this.#units.get(unit)?.first ?? seq;
    if (this.#units.size < mostUnits || first !== seq) this.#units.set(unit, { first, last: seq });
  }

  /** Tells whether a walk that took its place at `seq` saw something of this kind for the first time. */
  take(unit: string, seq: number): boolean {
    const unsure = this.#units.get(unit);
    if (unsure === undefined || unsure.first > seq) return false;
    if (unsure.last < seq) this.#units.delete(unit);
    else this.#units.set(unit, { first: unsure.last, last: unsure.last });
    return true;
  }

  forget(unit: string): void {
    this.#units.delete(unit);
  }
}
