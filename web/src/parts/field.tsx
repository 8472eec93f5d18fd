/** Form fields: with a label, a hint, and the fault of the input. */

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { formatBytes, parseSize } from '../../../src/text.ts';
import type { TypedMore } from '../own/proposal.ts';
import { Name } from './name.tsx';

export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  /** Called by Enter, which then does not submit the form. */
  readonly onEnter?: () => void;
  readonly hint?: string | undefined;
  /** Reason why the input is invalid. */
  readonly fault?: string | undefined;
  readonly type?: 'text' | 'search' | 'password' | 'email' | 'date';
  readonly required?: boolean;
  readonly autocomplete?: string;
  /** Uses a monospaced font and no spelling check. */
  readonly isCode?: boolean;
}

export function Field(props: FieldProps) {
  const { label, value, onInput, onEnter, hint, fault } = props;
  const { type = 'text', required, autocomplete = 'off', isCode } = props;
  const id = useId();
  const described = hint !== undefined || fault !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type={type}
        value={value}
        required={required}
        autocomplete={autocomplete}
        spellcheck={false}
        class={isCode ? 'code' : ''}
        aria-invalid={fault === undefined ? undefined : 'true'}
        aria-describedby={described ? `${id}-about` : undefined}
        onInput={event => onInput(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.isComposing || onEnter === undefined) return;
          event.preventDefault();
          onEnter();
        }}
      />
      {described && (
        <span id={`${id}-about`} class={fault === undefined ? 'quiet-text small' : 'fault small'}>
          {fault ?? hint}
        </span>
      )}
    </div>
  );
}

interface SizeFieldProps {
  readonly label: string;
  /** Text as typed; `sizeIn` reads it. */
  readonly value: string;
  readonly onInput: (text: string) => void;
  /** Reason why this size, although well-formed, is not possible. */
  readonly fault?: string | undefined;
  /** True for a limit, which may be -1; default true. */
  readonly isLimit?: boolean;
}

/** Field for a size, which shows the size in bytes. */
export function SizeField({ label, value, onInput, fault, isLimit = true }: SizeFieldProps) {
  const size = parseSize(value);
  const isUntouched = value.trim() === '';
  const expected = `such as 500M, 10G or 1.5GiB${isLimit ? ', or -1 for unlimited' : ''}`;
  if (size.ok) {
    const hint = comesTo(size.value);
    return <Field label={label} value={value} onInput={onInput} hint={hint} fault={fault} isCode />;
  }
  return (
    <Field
      label={label}
      value={value}
      onInput={onInput}
      hint={`A number and a unit, ${expected}`}
      fault={isUntouched ? undefined : `That is ${size.problem}. Write a number and a unit, ${expected}.`}
      isCode
    />
  );
}

function comesTo(bytes: number): string {
  if (bytes === -1) return 'No limit';
  if (bytes === 0) return 'Nothing can be stored';
  return `${formatBytes(bytes)}: ${bytes.toLocaleString('en-US')} bytes`;
}

/** Parses a size in bytes, or -1; null if invalid. */
export function sizeIn(text: string): number | null {
  const size = parseSize(text);
  return size.ok ? size.value : null;
}

interface CheckProps {
  /** Label, which may be a name from a stranger; it is made harmless. */
  readonly label: string;
  readonly note?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Check({ label, note, checked, onChange, disabled }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={event => onChange(event.currentTarget.checked)}
      />
      <span>
        <Name>{label}</Name> {note !== undefined && <span class="quiet-text">{note}</span>}
      </span>
    </label>
  );
}

interface ChecksProps {
  readonly label: string;
  readonly options: readonly { readonly name: string; readonly note?: string }[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
  /** Content below the boxes. */
  readonly children?: ComponentChildren;
}

/** Boxes of which several may be checked. */
export function Checks({ label, options, chosen, onChange, children }: ChecksProps) {
  return (
    <fieldset class="stack">
      <legend>{label}</legend>
      <div class="columns">
        {options.map(({ name, ...option }) => (
          <Check
            key={name}
            {...option}
            label={name}
            checked={chosen.has(name)}
            onChange={isIn => onChange(changed(chosen, name, isIn))}
          />
        ))}
      </div>
      {children}
    </fieldset>
  );
}

/** Returns the set with this member, or without it. */
export function changed(set: ReadonlySet<string>, member: string, isIn: boolean): ReadonlySet<string> {
  return isIn ? new Set([...set, member]) : new Set([...set].filter(each => each !== member));
}

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, words: string])[];
  readonly onChoice: (value: Value) => void;
  readonly hint?: string;
}

export function Choice<Value extends string>({ label, value, options, onChoice, hint }: ChoiceProps<Value>) {
  const id = useId();
  const choose = (index: number) => {
    const option = options[index];
    if (option !== undefined) onChoice(option[0]);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-about`}
        onChange={event => choose(event.currentTarget.selectedIndex)}
      >
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <span id={`${id}-about`} class="quiet-text small">
          {hint}
        </span>
      )}
    </div>
  );
}

interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  /** Reason why the input is invalid. */
  readonly fault?: string | undefined;
  /** Uses a monospaced font; default true. */
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

interface MoreFieldsProps {
  readonly more: TypedMore;
  readonly onChange: (more: TypedMore) => void;
}

export function MoreFields({ more, onChange }: MoreFieldsProps) {
  const bytes = sizeIn(more.size);
  return (
    <>
      <SizeField
        label="How much more"
        value={more.size}
        onInput={size => onChange({ ...more, size })}
        fault={bytes !== null && bytes < 1 ? 'Write a size above 0, such as 5G.' : undefined}
        isLimit={false}
      />
      <Field
        label="Until (last day)"
        type="date"
        value={more.lastDay}
        onInput={lastDay => onChange({ ...more, lastDay })}
        required
      />
    </>
  );
}

/** Returns the size and the end of the last day in the reader's time zone; null if the input is invalid. */
export function moreIn({
  size,
  lastDay,
}: TypedMore): { readonly bytes: number; readonly until: string } | null {
  const parsed = parseSize(size);
  const end = new Date(`${lastDay}T23:59:59`);
  if (!parsed.ok || parsed.value < 1 || Number.isNaN(end.getTime())) return null;
  return { bytes: parsed.value, until: end.toISOString() };
}
