/** The answers of the client, and its errors: a class for each reason, which `instanceof` tells apart. */

/** The kinds of data that are measured. */
export type QuotaLeaf =
  | 'size:repos:public'
  | 'size:repos:private'
  | 'size:git:lfs'
  | 'size:assets:attachments:issues'
  | 'size:assets:attachments:releases'
  | 'size:assets:artifacts'
  | 'size:assets:packages:all'
  | 'size:assets:wiki';

/** Kinds of data, and sums of several kinds. */
export type QuotaSubject =
  | QuotaLeaf
  | 'size:all'
  | 'size:git:all'
  | 'size:repos:all'
  | 'size:assets:all'
  | 'size:assets:attachments:all';

/** A grace period, in which an owner may be over a limit by a limited amount. */
export interface QuotaGrace {
  /** The moment when refusals begin, or began; null if the daemon did not send it. */
  readonly until: Date | null;
  /** Bytes. From this usage on, uploads are refused even before `until`. */
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
  /** Bytes that the deciding rule counts; null if no rule covers the subject, or no daemon answered. */
  readonly used: number | null;
  /** Bytes; -1 is no limit; null as with `used`. */
  readonly limit: number | null;
  readonly group: string | null;
  readonly rule: string | null;
  /** Set if a limit with a grace is exceeded. If refused, the grace is over, or `below` is reached. */
  readonly grace: QuotaGrace | null;
  /** Set if a rule in report mode would refuse. */
  readonly reported: QuotaReport | null;
}

export interface QuotaAnswer extends QuotaStanding {
  readonly owner: string;
  readonly subject: string;
  /** True if this is allowed only because the quota, or the rule in `reported`, is in report mode. */
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
  /** The reason, if `onError` decided instead of the daemon. */
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
  /** The decision about each subject. */
  readonly decisions: Readonly<Record<string, QuotaStanding>>;
}

/** The quota refuses the upload. `message` is for the person who uploads. */
export class QuotaExceededError extends Error {
  override readonly name = 'QuotaExceededError';
  readonly answer: QuotaAnswer;

  constructor(answer: QuotaAnswer) {
    super(answer.message);
    this.answer = answer;
  }
}

/** The daemon did not answer in time, or its answer cannot be understood. Another try may succeed. */
export class QuotaUnavailableError extends Error {
  override readonly name = 'QuotaUnavailableError';
}

/** The daemon rejects the request, such as one with an unknown subject. Another try will fail, too. */
export class QuotaRequestError extends Error {
  override readonly name = 'QuotaRequestError';
  /** The HTTP status. */
  readonly status: number;
  /** A code of docs/errors.md, such as `unknown_path`; empty if the daemon named none. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
