/** Answers of the gate: their types, and how they are read from JSON (INTERFACES.md section 6). */

/** The kinds of data that bytes are measured under. */
export type QuotaLeaf =
  | 'size:repos:public'
  | 'size:repos:private'
  | 'size:git:lfs'
  | 'size:assets:attachments:issues'
  | 'size:assets:attachments:releases'
  | 'size:assets:artifacts'
  | 'size:assets:packages:all'
  | 'size:assets:wiki';

/** Everything that can be asked about. */
export type QuotaSubject =
  | QuotaLeaf
  | 'size:all'
  | 'size:git:all'
  | 'size:repos:all'
  | 'size:assets:all'
  | 'size:assets:attachments:all';

/** The time in which an owner may pass a limit by little. */
export interface QuotaGrace {
  /** Refusals begin at this moment, or began; null if the daemon did not say it. */
  readonly until: Date | null;
  /** Bytes. From this usage on it is refused, whatever the time is. */
  readonly below: number;
}

/** A refusal by a rule in report mode: recorded, and let through. */
export interface QuotaReport {
  /** The same as in `QuotaStanding`. */
  readonly used: number | null;
  readonly limit: number | null;
  readonly group: string | null;
  readonly rule: string | null;
  /** One line for a person. */
  readonly message: string;
}

/** A decision with the rule that made it. */
export interface QuotaStanding {
  readonly allowed: boolean;
  /** Bytes that the deciding rule counts; null if no rule covers the subject, or nobody could be asked. */
  readonly used: number | null;
  /** Bytes; -1 is no limit; null as with `used`. */
  readonly limit: number | null;
  readonly group: string | null;
  readonly rule: string | null;
  /**
   * If a limit is passed that has a grace: allowed, it runs; refused, it has ended, or does not reach so
   * far.
   */
  readonly grace: QuotaGrace | null;
  /** If a rule in report mode would refuse. */
  readonly reported: QuotaReport | null;
}

export interface QuotaAnswer extends QuotaStanding {
  readonly owner: string;
  readonly subject: string;
  /**
   * Allowed, because the quota, or the rule in `reported`, is in report mode, and would refuse it.
   */
  readonly wouldRefuse: boolean;
  readonly measuredAt: Date | null;
  /** Some bytes could not be measured, and count as last known. */
  readonly partial: boolean;
  /** Some figures come from a source that no longer reports. */
  readonly stale: boolean;
  /** One line for a person: who uses how much of what. */
  readonly message: string;
  /** One line for a person if usage is near the limit. */
  readonly warning: string | null;
  /** Set if the daemon did not decide this, but `onError` did: the reason. */
  readonly error: Error | null;
}

/** Bytes by kind, as Forgejo's API nests them. */
export interface UsedTree {
  readonly [kind: string]: number | UsedTree;
}

export interface QuotaUsage {
  readonly owner: string;
  readonly used: UsedTree;
  readonly measuredAt: Date | null;
  readonly partial: boolean;
  readonly stale: boolean;
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly {
      readonly name: string;
      readonly limit: number;
      readonly subjects: readonly string[];
    }[];
  }[];
  /** By subject. */
  readonly decisions: Readonly<Record<string, QuotaStanding>>;
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a JSON object; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function readAnswer(json: unknown, allowed: boolean): QuotaAnswer {
  const fields = fieldsOf(json);
  return {
    ...readStanding(json),
    allowed,
    owner: stringOf(fields.owner) ?? '',
    subject: stringOf(fields.subject) ?? '',
    wouldRefuse: fields.would_refuse === true,
    measuredAt: dateOf(fields.measured_at),
    partial: fields.partial === true,
    stale: fields.stale === true,
    message: stringOf(fields.message) ?? (allowed ? '' : 'Quota exceeded.'),
    warning: stringOf(fields.warning),
    error: null,
  };
}

export function readUsage(json: unknown): QuotaUsage {
  const fields = fieldsOf(json);
  const decisions = Object.entries(fieldsOf(fields.decisions));
  return {
    owner: stringOf(fields.owner) ?? '',
    used: treeOf(fields.used),
    measuredAt: dateOf(fields.measured_at),
    partial: fields.partial === true,
    stale: fields.stale === true,
    groups: listOf(fields.groups).map(group => {
      const { name, rules } = fieldsOf(group);
      return { name: stringOf(name) ?? '', rules: listOf(rules).map(readRule) };
    }),
    decisions: Object.fromEntries(decisions.map(([subject, decision]) => [subject, readStanding(decision)])),
  };
}

function readRule(json: unknown): QuotaUsage['groups'][number]['rules'][number] {
  const { name, limit, subjects } = fieldsOf(json);
  return {
    name: stringOf(name) ?? '',
    limit: numberOf(limit) ?? -1,
    subjects: listOf(subjects).flatMap(subject => stringOf(subject) ?? []),
  };
}

function readStanding(json: unknown): QuotaStanding {
  const { allowed, grace, reported } = fieldsOf(json);
  return {
    allowed: allowed === true,
    ...readRuling(json),
    grace: readGrace(grace),
    reported: readReport(reported),
  };
}

function readRuling(json: unknown): Pick<QuotaStanding, 'used' | 'limit' | 'group' | 'rule'> {
  const { used, limit, group, rule } = fieldsOf(json);
  return { used: numberOf(used), limit: numberOf(limit), group: stringOf(group), rule: stringOf(rule) };
}

function readGrace(json: unknown): QuotaGrace | null {
  const { until, below } = fieldsOf(json);
  const bytes = numberOf(below);
  return bytes === null ? null : { until: dateOf(until), below: bytes };
}

function readReport(json: unknown): QuotaReport | null {
  const message = stringOf(fieldsOf(json).message);
  return message === null ? null : { ...readRuling(json), message };
}

function treeOf(value: unknown): UsedTree {
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).map(([kind, below]) => [kind, numberOf(below) ?? treeOf(below)]),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Null also for a text that is no time. */
export function dateOf(value: unknown): Date | null {
  const text = stringOf(value);
  if (text === null) return null;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}
