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
  /** Figures as in `QuotaStanding`. */
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

type Ruling = Pick<QuotaStanding, 'used' | 'limit' | 'group' | 'rule'>;

/** A decision in the gate's JSON, which is taken at its word; any part may be left out. */
interface StandingJson extends Partial<Ruling> {
  readonly allowed?: boolean;
  readonly grace?: { readonly until?: string; readonly below?: number } | null;
  readonly reported?: (Partial<Ruling> & { readonly message?: string }) | null;
}

/** The parts that the answers to a question and about an owner share. */
interface FiguresJson {
  readonly owner?: string;
  readonly measured_at?: string | null;
  readonly partial?: boolean;
  readonly stale?: boolean;
}

interface AnswerJson extends FiguresJson, StandingJson {
  readonly subject?: string;
  readonly would_refuse?: boolean;
  readonly message?: string;
  readonly warning?: string | null;
}

interface UsageJson extends FiguresJson, Partial<Pick<QuotaUsage, 'used' | 'groups'>> {
  readonly decisions?: Readonly<Record<string, StandingJson>>;
}

/** The fields of a JSON object; none for anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function readAnswer(json: unknown, allowed: boolean): QuotaAnswer {
  const fields: AnswerJson = fieldsOf(json);
  return {
    ...readStanding(fields),
    ...readFigures(fields),
    allowed,
    subject: fields.subject ?? '',
    wouldRefuse: fields.would_refuse === true,
    message: fields.message ?? (allowed ? '' : 'Quota exceeded.'),
    warning: fields.warning ?? null,
    error: null,
  };
}

export function readUsage(json: unknown): QuotaUsage {
  const fields: UsageJson = fieldsOf(json);
  const decisions = Object.entries(fields.decisions ?? {});
  return {
    ...readFigures(fields),
    used: fields.used ?? {},
    groups: (fields.groups ?? []).map(group => ({
      name: group.name,
      rules: group.rules.map(({ name, limit, subjects }) => ({ name, limit, subjects })),
    })),
    decisions: Object.fromEntries(decisions.map(([subject, decision]) => [subject, readStanding(decision)])),
  };
}

function readFigures({ owner = '', measured_at: measuredAt, partial, stale }: FiguresJson) {
  return { owner, measuredAt: dateOf(measuredAt), partial: partial === true, stale: stale === true };
}

function readStanding({ allowed, grace, reported, ...ruling }: StandingJson): QuotaStanding {
  return {
    allowed: allowed === true,
    ...readRuling(ruling),
    grace: grace?.below === undefined ? null : { until: dateOf(grace.until), below: grace.below },
    reported: reported?.message === undefined ? null : { ...readRuling(reported), message: reported.message },
  };
}

function readRuling({ used = null, limit = null, group = null, rule = null }: Partial<Ruling>): Ruling {
  return { used, limit, group, rule };
}

export function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Null also for a text that is no time. */
export function dateOf(value: unknown): Date | null {
  const date = new Date(stringOf(value) ?? '');
  return Number.isNaN(date.getTime()) ? null : date;
}
