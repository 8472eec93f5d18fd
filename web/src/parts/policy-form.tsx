/**
 * An edit of the policy: a form, what it would change as it is typed, and the saving of exactly that.
 *
 * The edit is made again on whatever policy is in force, so that a change by somebody else is seen before it
 * is saved over.
 */

import { keepPreviousData, useQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { refresh } from '../api/client.ts';
import { draftOf, isSame, replacementOf } from '../policy/edit.ts';
import { save, trialQuery } from '../policy/trial.ts';
import { announce } from './announcer.tsx';
import { Button, useAction } from './button.tsx';
import { Effect } from './effect.tsx';
import { useSettled } from './settled.ts';
import { Fault } from './states.tsx';

interface PolicyFormProps {
  /** In force. */
  readonly policy: WholePolicy;
  /** Policy of the form; null while its input is invalid. */
  readonly edited: WholePolicy | null;
  /** Words on the button: `Create the group`. */
  readonly action: string;
  /** Words that are announced once it is saved. */
  readonly done: string;
  readonly onSaved: () => void;
  readonly onCancel: () => void;
  /** Its fields. */
  readonly children: ComponentChildren;
}

const settledMs = 300;

export function PolicyForm({ policy, edited, action, done, onSaved, onCancel, children }: PolicyFormProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The button that opened the form is not there while the form is, so the heading takes the focus
    // afterwards.
    form.current?.querySelector<HTMLElement>('input, select')?.focus();
    return () => document.querySelector('h1')?.focus({ preventScroll: true });
  }, []);
  const isChanged = edited !== null && !isSame(policy, edited);
  const draft = isChanged ? draftOf(policy, edited) : {};
  const text = JSON.stringify(draft);
  const isSettled = useSettled(text, settledMs) === text;
  const trial = useQuery({
    ...trialQuery({ settings: {}, ...draft }),
    enabled: isChanged && isSettled,
    placeholderData: keepPreviousData,
  });
  const isShown = isSettled && !trial.isPlaceholderData && !trial.isPending;
  const { start, isBusy, failure } = useAction(async () => {
    if (edited === null) return;
    // Somebody else may have saved: the effect is then told again, on what is in force now.
    await save(replacementOf(policy, edited)).finally(refresh);
    announce(done);
    onSaved();
  });
  return (
    <form ref={form} class="stack" onSubmit={start}>
      {children}
      {isChanged && <Effect trial={trial} isCurrent={isShown} />}
      {failure !== null && <Fault of={failure} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={!isChanged || !isShown || isBusy}>
          {action}
        </button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
