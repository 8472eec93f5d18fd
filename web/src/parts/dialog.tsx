/**
 * Questions that have to be answered before anything else: the browser's own dialogs, which keep the focus
 * in.
 */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { refresh } from '../api/client.ts';
import { announce } from './announcer.tsx';
import { Button, useAction } from './button.tsx';
import { Fault } from './states.tsx';

interface DialogProps {
  readonly title: string;
  /** It was left without a decision: by Escape, or by its button. */
  readonly onClose: () => void;
  /** A form with its own buttons. */
  readonly children: ComponentChildren;
}

/** Open as long as it is drawn. What had the focus before has it again afterwards. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the next key comes: it is meant for the dialog.
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      // While it is open nothing else takes the focus; closing gives it back by itself only where it was
      // inside.
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

/** Gives the focus to the heading of the page where nothing has it. */
function handOn(): void {
  if (document.activeElement === document.body) document.querySelector('h1')?.focus({ preventScroll: true });
}

/** Hands the focus on once what has it goes, such as the row of what was deleted; until something else has it. */
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
  /** Words on the button: `Delete the group`. */
  readonly action: string;
  /** It cannot be taken back. */
  readonly isDangerous?: boolean;
  /** True if the input is complete and can be used; always true if left out. */
  readonly isReady?: boolean;
  /** Does it; where it rejects the dialog says why, and stays. Then all that is shown is asked again. */
  readonly act: () => Promise<unknown>;
  /** Words that are announced once it is done: `The group is gone.` Left out: none are. */
  readonly done?: string;
  /** It is done, or was given up. */
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
