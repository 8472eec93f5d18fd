/** A button that submits no form, and the state of an action that may fail. */

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
  /** Runs the action and prevents the default of an event. Never rejects. */
  readonly start: (argument: Argument) => Promise<void>;
  readonly isBusy: boolean;
  /** Error of the last run; null if it succeeded. */
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
