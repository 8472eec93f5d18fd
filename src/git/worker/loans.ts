/** The object directories that repositories lend to others, each as its `identity`. */

import { alternatesOf } from '../../scan/index.ts';
import { identity } from './files.ts';
import type { Pace } from './repository-walk.ts';

/**
 * Time for which collections that are due rely on one look: a walk finds a new borrower no sooner, and the
 * expiry is ten minutes at least.
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
  /** Time of the last look, on the monotonic clock. */
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Looks at these repositories again. One that is away keeps what it borrowed when it was read last. */
  async look(repositories: Iterable<string>, pace: Pace): Promise<void> {
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
    this.#known = loans;
    this.#lent = lent;
    this.unclear = unclear;
    this.#lookedAt = performance.now();
  }

  get isFresh(): boolean {
    return performance.now() - this.#lookedAt < freshMs;
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
