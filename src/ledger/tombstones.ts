/**
 * Paths where walks found no unit any more, and where in the order those walks began: the result of an
 * earlier walk that comes late must not bring a unit back.
 *
 * No walk lasts over two ends of sweeps; what is older than that is forgotten.
 */
export class Tombstones {
  #lately = new Map<string, number>();
  #before = new Map<string, number>();

  add(path: string, seq: number): void {
    if (!this.after(path, seq)) this.#lately.set(path, seq);
  }

  /** Tells whether a walk that began after `seq` found nothing there. */
  after(path: string, seq: number): boolean {
    const departedAt = this.#lately.get(path) ?? this.#before.get(path);
    return departedAt !== undefined && departedAt > seq;
  }

  /** A sweep has ended. */
  swept(): void {
    this.#before = this.#lately;
    this.#lately = new Map();
  }
}
