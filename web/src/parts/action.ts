/** Something that a form or a button does, and that may fail. */

import { useState } from 'preact/hooks';

export interface Action {
  /** Does it; an event that it is for is dealt with by this alone. Never rejects. */
  readonly start: (event?: Event) => Promise<void>;
  readonly isBusy: boolean;
  /** Why it failed last; null: it did not. */
  readonly failure: unknown;
}

export function useAction(act: () => Promise<unknown>): Action {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const start = async (event?: Event) => {
    event?.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      await act();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return { start, isBusy, failure };
}
