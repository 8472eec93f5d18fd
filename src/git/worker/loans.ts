/** The object directories that repositories lend to others, each as its `identity`. */

import { alternatesOf } from '../../scan/index.ts';
import { identity } from './files.ts';
import type { Pace } from './repository-walk.ts';

/**
 * Time for which collections that are due rely on one look: what a repository borrows that was made meanwhile
 * has not been unreachable for the expiry, which is ten minutes at least.
 */
const freshMs = 60_000;

interface Loan {
  readonly objects: string;
  readonly lenders: ReadonlySet<string>;
}

/**
 * Knows from which object directories repositories borrow, or which two of them share by a link. Nothing in
 * these may be deleted or forgiven, even if no ref of their own repository reaches it.
 */
export class Loans {
  #known = new Map<string, Loan>();
  #lent: ReadonlySet<string> = new Set();
  /** A repository of which it cannot be told from whom it borrows; null: there is none. */
  unclear: string | null = null;
  /** Times on the monotonic clock at which the look that counts began, and the last repository came. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  #cameAt = Number.NEGATIVE_INFINITY;

  /** Looks at these repositories again. One that is away keeps what it borrowed when it was read last. */
  async look(repositories: Iterable<string>, pace: Pick<Pace, 'step'>): Promise<void> {
    const begun = performance.now();
    const loans = new Map<string, Loan>();
    const lent = new Set<string>();
    const seen = new Set<string>();
    let unclear: string | null = null;
    for (const repository of repositories) {
      await pace.step();
      const read = await loanOf(repository);
      if (read === 'unclear') unclear = repository;
      const loan = typeof read === 'string' ? this.#known.get(repository) : read;
      if (loan === undefined) {
        unclear = repository;
        continue;
      }
      loans.set(repository, loan);
      if (seen.has(loan.objects)) lent.add(loan.objects);
      seen.add(loan.objects);
      for (const lender of loan.lenders) lent.add(lender);
    }
    // Another look that began later may have ended before.
    if (begun < this.#lookedAt) return;
    this.#known = loans;
    this.#lent = lent;
    this.unclear = unclear;
    this.#lookedAt = begun;
  }

  /** Notes that a repository has come, which may have borrowed long ago: on a disk that is mounted, say. */
  came(): void {
    this.#cameAt = performance.now();
  }

  get isFresh(): boolean {
    return this.#lookedAt > Math.max(this.#cameAt, performance.now() - freshMs);
  }

  get isAny(): boolean {
    return this.#lent.size > 0;
  }

  /** Tells whether another repository uses objects of this one. */
  async isLender(repository: string): Promise<boolean> {
    if (!this.isAny) return false;
    const objects = await identity(`${repository}/objects`);
    return objects !== null && this.#lent.has(objects);
  }
}

async function loanOf(repository: string): Promise<Loan | 'away' | 'unclear'> {
  const own = `${repository}/objects`;
  const objects = await identity(own);
  if (objects === null) return 'away';
  const lenders = new Set<string>();
  try {
    for (const alternate of alternatesOf(own, true)) {
      const lender = await identity(alternate);
      if (lender !== null && lender !== objects) lenders.add(lender);
    }
  } catch {
    return 'unclear';
  }
  return { objects, lenders };
}
