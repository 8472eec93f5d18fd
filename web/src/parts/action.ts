/** Something that a form or a button does, and that may fail. */

import { useState } from 'preact/hooks';

export interface Action<Argument> {
  /** Does it; an event that it is for is dealt with by this alone. Never rejects. */
  readonly start: (argument: Argument) => Promise<void>;
  readonly isBusy: boolean;
  /** Why it failed last; null: it did not. */
  readonly failure: unknown;
}

export function useAction<Argument = Event>(act: (argument: Argument) => Promise<unknown>): Action<Argument> {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const start = async (argument: Argument) => {
    if (argument instanceof Event) argument.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      await act(argument);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return { start, isBusy, failure };
}
