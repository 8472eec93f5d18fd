/** Form of a rule, also as a part of a group's form, and of the groups with the rule. */

import { useState } from 'preact/hooks';
import {
  limitFault,
  nameFault,
  parseGraceMost,
  type RuleMode,
  type RuleScope,
  type RuleSubject,
} from '../../../src/quota/index.ts';
import { parseDuration, writeDuration, writeSize } from '../../../src/text.ts';
import type { Rule, WholePolicy } from '../../../src/wire/index.ts';
import { groupsWith, withGroup, withRule } from '../policy/edit.ts';
import { Checks, Choice, Field, SizeField, sizeIn } from './field.tsx';
import { PolicyForm } from './policy-form.tsx';
import type { FormEnds } from './policy-pages.tsx';
import { SubjectPicker } from './subject-picker.tsx';

interface RuleFormProps extends FormEnds {
  readonly policy: WholePolicy;
  /** Absent for a new rule. */
  readonly rule?: Rule;
  /** Initial name of a new rule. */
  readonly wanted?: string;
}

export function RuleForm({ policy, rule, wanted = '', onSaved, onCancel }: RuleFormProps) {
  const [typed, setTyped] = useState(rule === undefined ? { ...newRule, name: wanted } : typedOf(rule));
  const [groups, setGroups] = useState<ReadonlySet<string>>(
    new Set(rule === undefined ? [] : groupsWith(policy, rule.name)),
  );
  const [base] = useState(policy);
  const isNew = rule === undefined;
  const taken = new Set(policy.rules.map(({ name }) => name));
  const made = ruleIn(typed);
  const edited = made === null || (isNew && taken.has(made.name)) ? null : placed(base, made, groups);
  return (
    <PolicyForm
      policy={policy}
      base={base}
      edited={edited}
      action={isNew ? 'Create the rule' : 'Save the rule'}
      done={isNew ? 'The rule is created.' : 'The rule is saved.'}
      onSaved={() => onSaved(typed.name)}
      onCancel={onCancel}
    >
      <RuleFields rule={typed} onChange={setTyped} isNamed={!isNew} taken={taken} />
      {base.groups.length > 0 && (
        <Checks
          label="Groups with this rule"
          options={base.groups.map(({ name }) => ({ name }))}
          chosen={groups}
          onChange={setGroups}
        />
      )}
    </PolicyForm>
  );
}

function placed(policy: WholePolicy, rule: Rule, groups: ReadonlySet<string>): WholePolicy {
  return policy.groups
    .filter(group => group.rules.includes(rule.name) !== groups.has(group.name))
    .map(group => ({
      ...group,
      rules: groups.has(group.name)
        ? [...group.rules, rule.name]
        : group.rules.filter(each => each !== rule.name),
    }))
    .reduce(withGroup, withRule(policy, rule));
}

/** Input of the form, as typed. */
export interface TypedRule {
  readonly name: string;
  readonly size: string;
  readonly subjects: readonly RuleSubject[];
  /** Empty for the configured value. */
  readonly grace: string;
  readonly graceMost: string;
  readonly mode: PolicyMode;
  readonly per: RuleScope;
  /** Empty for the configured value. */
  readonly warnAt: string;
}

type PolicyMode = 'enforce' | RuleMode;

export const newRule: TypedRule = {
  name: '',
  size: '',
  subjects: ['size:all'],
  grace: '',
  graceMost: '',
  mode: 'enforce',
  per: 'owner',
  warnAt: '',
};

export function typedOf({
  name,
  limit,
  subjects,
  grace,
  grace_most: most,
  mode,
  per,
  warn_at: warnAt,
}: Rule): TypedRule {
  const time = grace === undefined ? '' : grace === 0 ? none : writeDuration(grace * 1000);
  return {
    name,
    size: writeSize(limit),
    subjects,
    grace: time,
    graceMost: most ?? '',
    mode: mode ?? 'enforce',
    per,
    warnAt: warnAt?.length === 0 ? none : (warnAt?.join(', ') ?? ''),
  };
}

const none = 'none';

/** Parses a grace in seconds; undefined for the configured one, null if invalid. */
function graceIn(text: string): number | null | undefined {
  const typed = text.trim();
  if (typed === '') return undefined;
  if (typed === none) return 0;
  const parsed = parseDuration(typed);
  return parsed.ok ? parsed.value / 1000 : null;
}

/** Parses whole percentages, ascending; undefined for the configured ones, null if invalid. */
function warnAtIn(text: string): readonly number[] | null | undefined {
  const typed = text.trim();
  if (typed === '') return undefined;
  if (typed === none) return [];
  const parts = typed.split(',').map(part => part.trim().replace(/ ?%$/, ''));
  if (!parts.every(part => /^[1-9]\d?$|^100$/.test(part))) return null;
  return [...new Set(parts.map(Number))].sort((a, b) => a - b);
}

/** Returns the rule; null while the input is invalid. */
export function ruleIn({
  name,
  size,
  subjects,
  grace: time,
  graceMost,
  mode,
  per,
  warnAt: percentages,
}: TypedRule): Rule | null {
  const limit = sizeIn(size);
  const warnAt = warnAtIn(percentages);
  const grace = mayHaveGrace(per) ? graceIn(time) : undefined;
  const most = mayHaveGrace(per) ? graceMost.trim() : '';
  if (limit === null || grace === null || warnAt === null || nameFault(name) !== null) return null;
  if (limitFault(limit, per) !== null || (most !== '' && !parseGraceMost(most).ok)) return null;
  return {
    name,
    limit,
    subjects,
    ...(grace === undefined ? {} : { grace }),
    ...(most === '' ? {} : { grace_most: most }),
    ...(mode === 'enforce' ? {} : { mode }),
    ...(warnAt === undefined ? {} : { warn_at: warnAt }),
    per,
  };
}

interface RuleFieldsProps {
  readonly rule: TypedRule;
  readonly onChange: (rule: TypedRule) => void;
  /** True for an existing rule, which keeps its name. */
  readonly isNamed?: boolean;
  /** Names of other rules. */
  readonly taken?: ReadonlySet<string>;
}

export function RuleFields({ rule, onChange, isNamed = false, taken = new Set() }: RuleFieldsProps) {
  const limit = sizeIn(rule.size);
  const fault = limit === null ? null : limitFault(limit, rule.per);
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
      <Choice
        label="What is limited"
        value={rule.per}
        options={scopes}
        onChoice={per => onChange({ ...rule, per })}
        hint={scopeHints[rule.per]}
      />
      <SizeField
        label="Limit"
        value={rule.size}
        onInput={size => onChange({ ...rule, size })}
        fault={fault === null ? undefined : `This limit is not possible: ${fault}.`}
      />
      <SubjectPicker
        label={rule.per === 'file' ? 'Kinds of data' : 'Kinds of data, counted together'}
        chosen={rule.subjects}
        onChange={subjects => onChange({ ...rule, subjects })}
      />
      {mayHaveGrace(rule.per) && <GraceFields rule={rule} onChange={onChange} />}
      <Field
        label="Warn at"
        value={rule.warnAt}
        onInput={warnAt => onChange({ ...rule, warnAt })}
        hint="The percentages of the limit at which is warned, such as 50, 80; none; empty: as configured"
        fault={
          warnAtIn(rule.warnAt) === null
            ? 'Write whole percentages from 1 to 100 with commas between, such as 50, 80.'
            : undefined
        }
        isCode
      />
      <Choice
        label="Mode of the rule"
        value={rule.mode}
        options={modes}
        onChoice={mode => onChange({ ...rule, mode })}
      />
    </>
  );
}

/** Returns true if limits of this scope may be exceeded for a time. */
export function mayHaveGrace(per: RuleScope): boolean {
  return per === 'owner' || per === 'group';
}

const scopes = [
  ['owner', 'each owner'],
  ['group', 'all members of the group together'],
  ['repository', 'each repository'],
  ['push', 'each push'],
  ['file', 'each file'],
] as const satisfies readonly (readonly [RuleScope, string])[];

const scopeHints: Readonly<Record<RuleScope, string>> = {
  owner: 'Each user and each organization in the group may store this much, whatever the others store.',
  group: 'The members share this much: it limits the sum of what they all store, besides the limits of each.',
  repository: 'Each single repository may have this much, however many an owner has.',
  push: 'One push or one upload may bring this much.',
  file: 'Each single file that is pushed or uploaded may have this size, as it is on a disk uncompressed.',
};

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
  ['enforce', 'enforce: refuse beyond the limit'],
  ['report', 'report: only record refusals'],
  ['warn', 'warn: tell, and refuse nothing'],
] as const satisfies readonly (readonly [PolicyMode, string])[];

interface NameFieldProps {
  readonly label: string;
  readonly name: string;
  readonly taken: ReadonlySet<string>;
  readonly onInput: (name: string) => void;
}

/** Field for the name of something new. */
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
