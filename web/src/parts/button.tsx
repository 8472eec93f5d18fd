/** A button that does something by itself: it submits no form. */

import type { ComponentChildren } from 'preact';

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
