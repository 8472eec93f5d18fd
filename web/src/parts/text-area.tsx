/** A longer text to type or paste. */

import { useId } from 'preact/hooks';

interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  /** Why it cannot be taken. */
  readonly fault?: string | undefined;
  /** Letters that stand in line; true unless said otherwise. */
  readonly isCode?: boolean;
}

export function TextArea({ label, value, onInput, fault, isCode = true }: TextAreaProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class={isCode ? 'code' : 'words'}
        spellcheck={!isCode}
        value={value}
        aria-invalid={fault === undefined ? undefined : 'true'}
        aria-describedby={fault === undefined ? undefined : `${id}-fault`}
        onInput={event => onInput(event.currentTarget.value)}
      />
      {fault !== undefined && (
        <span id={`${id}-fault`} class="fault small">
          {fault}
        </span>
      )}
    </div>
  );
}
