/** A rule in a form. */

import { nameFault, type RuleSubject } from '../../../src/quota/index.ts';
import { writeSize } from '../../../src/text/index.ts';
import type { Rule } from '../../../src/wire/index.ts';
import { Field, SizeField, sizeIn } from './field.tsx';
import { SubjectPicker } from './subject-picker.tsx';

/** As it is typed. */
export interface TypedRule {
  readonly name: string;
  readonly size: string;
  readonly subjects: readonly RuleSubject[];
}

export const newRule: TypedRule = { name: '', size: '', subjects: ['size:all'] };

export function typedOf({ name, limit, subjects }: Rule): TypedRule {
  return { name, size: writeSize(limit), subjects };
}

/** Null while it cannot be taken. */
export function ruleIn({ name, size, subjects }: TypedRule): Rule | null {
  const limit = sizeIn(size);
  return limit === null || nameFault(name) !== null ? null : { name, limit, subjects };
}

export interface RuleFieldsProps {
  readonly rule: TypedRule;
  readonly onChange: (rule: TypedRule) => void;
  /** It exists, and keeps its name. */
  readonly isNamed?: boolean;
  /** Names that others have. */
  readonly taken?: ReadonlySet<string>;
}

export function RuleFields({ rule, onChange, isNamed = false, taken = new Set() }: RuleFieldsProps) {
  return (
    <>
      {!isNamed && (
        <NameField
          label="Name of the rule"
          name={rule.name}
          taken={taken}
          onInput={name => onChange({ ...rule, name })}
        />
      )}
      <SizeField label="Limit" value={rule.size} onInput={size => onChange({ ...rule, size })} />
      <SubjectPicker chosen={rule.subjects} onChange={subjects => onChange({ ...rule, subjects })} />
    </>
  );
}

export interface NameFieldProps {
  readonly label: string;
  readonly name: string;
  readonly taken: ReadonlySet<string>;
  readonly onInput: (name: string) => void;
}

/** A name for something new. */
export function NameField({ label, name, taken, onInput }: NameFieldProps) {
  const why = name === '' ? null : taken.has(name) ? 'the name is already used' : nameFault(name);
  return (
    <Field
      label={label}
      value={name}
      onInput={onInput}
      fault={why === null ? undefined : `This name is not possible: ${why}.`}
    />
  );
}
