/** A button that submits no form, and what a button or a form does, which may fail. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface ButtonProps {
  readonly look?: 'danger' | 'primary' | 'quiet';
  readonly disabled?: boolean;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

export function Button({ look, disabled, onClick, children }: ButtonProps) {
  return (
    <button type="button" class={look} disabled={disabled} onClick={onClick}>
      {children}
    </button>
  );
}

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
