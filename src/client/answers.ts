/** Answers of the gate, as programs get them. */

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
export interface QuotaReport extends Pick<QuotaStanding, 'used' | 'limit' | 'group' | 'rule'> {
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
  /** If a limit with a grace is passed: allowed, it runs; refused, it has ended, or does not reach so far. */
  readonly grace: QuotaGrace | null;
  /** If a rule in report mode would refuse. */
  readonly reported: QuotaReport | null;
}

export interface QuotaAnswer extends QuotaStanding {
  readonly owner: string;
  readonly subject: string;
  /** Allowed, because the quota, or the rule in `reported`, is in report mode, and would refuse it. */
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
