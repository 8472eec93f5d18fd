/** Modal dialogs, which use the browser's own and keep the focus inside. */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { refresh } from '../api/client.ts';
import { announce } from './announcer.tsx';
import { Button, useAction } from './button.tsx';
import { Fault } from './states.tsx';

interface DialogProps {
  readonly title: string;
  /** Called if the dialog is left by Escape or its button. */
  readonly onClose: () => void;
  /** A form with its own buttons. */
  readonly children: ComponentChildren;
}

/**
 * A modal dialog that is open while it is rendered. Afterwards the focus returns to the element that had it.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // A layout effect runs before the next key, which is meant for the dialog.
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      // The browser returns the focus only if it was inside the dialog.
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) {
        before.focus();
        handOnFrom(before);
      }
      handOn();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="stack">
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** Moves the focus to the page's heading if no element has it. */
function handOn(): void {
  if (document.activeElement === document.body) document.querySelector('h1')?.focus({ preventScroll: true });
}

/** Moves the focus to the heading if the focused element disappears, such as the row of a deleted entry. */
function handOnFrom(focused: HTMLElement): void {
  const observer = new MutationObserver(() => {
    if (focused.isConnected) return;
    observer.disconnect();
    handOn();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  document.addEventListener('focusin', () => observer.disconnect(), { once: true });
}

export interface ConfirmProps {
  /** The question: `Delete the group free?` */
  readonly title: string;
  /** Text that says what will happen, and what will not. */
  readonly children: ComponentChildren;
  /** Label of the button: `Delete the group`. */
  readonly action: string;
  /** True if the action cannot be undone. */
  readonly isDangerous?: boolean;
  /** True if the input is complete and can be used; default true. */
  readonly isReady?: boolean;
  /**
   * The action. If it rejects, the dialog stays and shows the error. In either case all queries are repeated.
   */
  readonly act: () => Promise<unknown>;
  /** Announcement after success: `The group is gone.` Absent for none. */
  readonly done?: string;
  /** Called with true after success, and with false if the dialog was cancelled. */
  readonly onClose: (isDone: boolean) => void;
}

export function Confirm({
  title,
  children,
  action,
  isDangerous,
  isReady = true,
  act,
  done,
  onClose,
}: ConfirmProps) {
  const { start, isBusy, failure } = useAction(async () => {
    await act().finally(refresh);
    if (done !== undefined) announce(done);
    onClose(true);
  });
  return (
    <Dialog title={title} onClose={() => onClose(false)}>
      <form onSubmit={start}>
        <div class="stack">{children}</div>
        {failure !== null && <Fault of={failure} />}
        <div class="actions">
          <Button onClick={() => onClose(false)}>Cancel</Button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={isBusy || !isReady}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
