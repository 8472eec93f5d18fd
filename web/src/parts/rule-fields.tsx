/** A rule in a form. */

import { nameFault, parseGraceMost, type RuleSubject } from '../../../src/quota/index.ts';
import { parseDuration, writeDuration, writeSize } from '../../../src/text/index.ts';
import type { Rule } from '../../../src/wire/index.ts';
import { Choice, Field, SizeField, sizeIn } from './field.tsx';
import { SubjectPicker } from './subject-picker.tsx';

/** Input of the form, as typed. */
export interface TypedRule {
  readonly name: string;
  readonly size: string;
  readonly subjects: readonly RuleSubject[];
  /** Empty: as configured. */
  readonly grace: string;
  readonly graceMost: string;
  readonly mode: PolicyMode;
}

type PolicyMode = 'enforce' | 'report';

export const newRule: TypedRule = {
  name: '',
  size: '',
  subjects: ['size:all'],
  grace: '',
  graceMost: '',
  mode: 'enforce',
};

export function typedOf({ name, limit, subjects, grace, grace_most: most, mode }: Rule): TypedRule {
  const time = grace === undefined ? '' : grace === 0 ? noGrace : writeDuration(grace * 1000);
  return {
    name,
    size: writeSize(limit),
    subjects,
    grace: time,
    graceMost: most ?? '',
    mode: mode ?? 'enforce',
  };
}

const noGrace = 'none';

/** Seconds; undefined: as configured; null: it is no time. */
function graceIn(text: string): number | null | undefined {
  const typed = text.trim();
  if (typed === '') return undefined;
  if (typed === noGrace) return 0;
  const parsed = parseDuration(typed);
  return parsed.ok ? parsed.value / 1000 : null;
}

/** Null while it cannot be taken. */
export function ruleIn({ name, size, subjects, grace: time, graceMost, mode }: TypedRule): Rule | null {
  const limit = sizeIn(size);
  const grace = graceIn(time);
  const most = graceMost.trim();
  if (limit === null || grace === null || nameFault(name) !== null) return null;
  if (most !== '' && !parseGraceMost(most).ok) return null;
  return {
    name,
    limit,
    subjects,
    ...(grace === undefined ? {} : { grace }),
    ...(most === '' ? {} : { grace_most: most }),
    ...(mode === 'report' ? { mode } : {}),
  };
}

interface RuleFieldsProps {
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
      <GraceFields rule={rule} onChange={onChange} />
      <Choice
        label="Mode of the rule"
        value={rule.mode}
        options={modes}
        onChoice={mode => onChange({ ...rule, mode })}
      />
    </>
  );
}

function GraceFields({ rule, onChange }: Pick<RuleFieldsProps, 'onChange' | 'rule'>) {
  const most = rule.graceMost.trim();
  return (
    <>
      <Field
        label="Grace"
        value={rule.grace}
        onInput={grace => onChange({ ...rule, grace })}
        hint="How long an owner over the limit is warned before refusals begin, such as 7d; none; empty: as configured"
        fault={
          graceIn(rule.grace) === null ? 'Write a whole number and s, m, h, d or w, such as 7d.' : undefined
        }
        isCode
      />
      <Field
        label="Grace up to"
        value={rule.graceMost}
        onInput={graceMost => onChange({ ...rule, graceMost })}
        hint="How far the limit may be passed meanwhile, such as 10 % or 5G; empty: as configured"
        fault={
          most === '' || parseGraceMost(most).ok ? undefined : 'Write a percentage, such as 10 %, or a size.'
        }
        isCode
      />
    </>
  );
}

const modes = [
  ['enforce', 'in force'],
  ['report', 'report only: record what it would refuse'],
] as const satisfies readonly (readonly [PolicyMode, string])[];

interface NameFieldProps {
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
