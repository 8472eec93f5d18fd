/**
 * Form for an edit of the policy, which shows the effect of the edit while it is typed and then saves exactly
 * that.
 *
 * The edit is applied to the policy in force, so that changes by others since the form was opened stay.
 */

import { keepPreviousData, useQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { refresh } from '../api/client.ts';
import { draftOf, isSame, rebased, replacementOf } from '../policy/edit.ts';
import { save, trialQuery } from '../policy/trial.ts';
import { announce } from './announcer.tsx';
import { Button, useAction } from './button.tsx';
import { Effect } from './effect.tsx';
import { useSettled } from './settled.ts';
import { Fault } from './states.tsx';

interface PolicyFormProps {
  /** The policy in force. */
  readonly policy: WholePolicy;
  /** The policy in force when the form was opened. */
  readonly base: WholePolicy;
  /** `base` as edited; null while the input is invalid. */
  readonly edited: WholePolicy | null;
  /** Label of the button: `Create the group`. */
  readonly action: string;
  /** Announcement after it was saved. */
  readonly done: string;
  readonly onSaved: () => void;
  readonly onCancel: () => void;
  readonly children: ComponentChildren;
}

const settledMs = 300;

export function PolicyForm(props: PolicyFormProps) {
  const { policy, base, action, done, onSaved, onCancel, children } = props;
  const edited = props.edited && rebased(base, props.edited, policy);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    // The button that opened the form is gone while the form is open, so the heading gets the focus
    // afterwards.
    form.current?.querySelector<HTMLElement>('input, select')?.focus();
    return () => document.querySelector('h1')?.focus({ preventScroll: true });
  }, []);
  const isChanged = edited !== null && !isSame(policy, edited);
  const draft = isChanged ? draftOf(policy, edited) : {};
  const text = JSON.stringify(draft);
  const isSettled = useSettled(text, settledMs) === text;
  const trial = useQuery({
    ...trialQuery({ settings: {}, ...draft }, policy.version),
    enabled: isChanged && isSettled,
    placeholderData: keepPreviousData,
  });
  const isCurrent = isSettled && !trial.isPlaceholderData && !trial.isPending;
  const { start, isBusy, failure } = useAction(async () => {
    if (edited === null) return;
    // If somebody else has saved, the effect is computed again with the policy in force.
    await save(replacementOf(policy, edited)).finally(refresh);
    announce(done);
    onSaved();
  });
  return (
    <form ref={form} class="stack" onSubmit={start}>
      {children}
      {isChanged && <Effect trial={trial} isCurrent={isCurrent} />}
      {failure !== null && <Fault of={failure} />}
      <div class="actions">
        <button
          type="submit"
          class="primary"
          disabled={!isChanged || !isCurrent || !trial.isSuccess || isBusy}
        >
          {action}
        </button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
