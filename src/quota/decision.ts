/**
 * A question, its decision and the records of it; and the room of an owner over a limit who deletes data that
 * is still on the disk.
 */

import type { ActiveAllowance, BoundScope, Grace, Graces, QuotaSettings, Standing } from './policy.ts';
import type { RuleSubject, Subject, Usage } from './subjects.ts';

/** Bytes that uploads have reserved and that are not measured yet. They count as used. */
export interface ReservedBytes {
  /** The leaves that the bytes may belong to, as in `leafMask`. */
  readonly mask: number;
  readonly bytes: number;
}

/** Bytes that are stored by an owner, by the members of a group together, or in a repository. */
export interface Stored {
  readonly usage: Usage;
  /** Null: none. */
  readonly reserved: readonly ReservedBytes[] | null;
  /** The part of `usage` that no ref reaches; null: none, or it is not forgiven. */
  readonly unreachable: Usage | null;
  /** True: a sum above 2^53 - 1 counts as 2^53 - 1; absent: it is an error. */
  readonly isCapped?: boolean;
}

/** The bytes of the members of a group together. */
export interface PooledBytes extends Stored {
  /** The graces of the group, by the names of its rules; absent: no limit has a grace. */
  readonly graces?: Graces;
}

/** The repository that an action grows; a new one has 0 bytes. */
export interface StoredRepository extends Stored {
  readonly name: string;
}

export interface IncomingFile {
  readonly bytes: number;
  /** The path in the repository, or the name of an uploaded file; absent: unknown. */
  readonly name?: string;
  /** The id of the object with the file's content; absent: unknown. */
  readonly object?: string;
}

/** The data that an action brings. */
export interface Incoming {
  /** Null: unknown. */
  readonly bytes: number | null;
  /** The largest of the files; null: unknown. */
  readonly largest: IncomingFile | null;
}

/** The things that bounds limit, as far as they are known. */
export interface BoundedThings {
  /** Returns the bytes of a group's members; absent: bounds of groups are not checked. */
  readonly pools?: ((group: string) => PooledBytes) | undefined;
  /** Absent or null: the action is not about a repository. */
  readonly repository?: StoredRepository | null | undefined;
  /** Absent: unknown. */
  readonly incoming?: Incoming | undefined;
}

export interface DecisionQuestion extends BoundedThings {
  readonly settings: QuotaSettings;
  readonly standing: Standing;
  readonly usage: Usage;
  readonly subject: Subject;
  /** 0 or more; default: 0. Counts only if `settings.precise` is set. */
  readonly addingBytes?: number | undefined;
  readonly reserved?: readonly ReservedBytes[] | null | undefined;
  readonly unreachable?: Usage | null | undefined;
}

export const precedence = ['assigned', 'defaults', 'builtin'] as const;

export type PrecedenceStep = (typeof precedence)[number];

/** The stored bytes under a limit, some of which are unreachable. */
export interface Garbage {
  readonly stored: number;
  /** The unreachable part of `stored`. */
  readonly unreachable: number;
  /** The bytes that count: `stored` without unreachable bytes, of which at most `most` are forgiven. */
  readonly billed: number;
  readonly most: number;
}

/** The part of a decision that a bound adds. */
export interface BoundDetails {
  readonly per: BoundScope;
  /** The owner's part of the bytes of the group's members. */
  readonly share?: number;
  /** The name of the repository. */
  readonly unit?: string;
  readonly file?: IncomingFile;
}

/** The facts that only some decisions by a rule have. */
interface Details extends Partial<BoundDetails> {
  /** The part of `limit` that the owner's allowances add; absent: none. */
  readonly allowance?: ActiveAllowance;
  /** The unreachable part of the stored bytes; absent: none, or not forgiven. */
  readonly garbage?: Garbage;
  /**
   * The grace of a passed limit. If the decision is a refusal, it has ended, or the usage is too large for
   * it.
   */
  readonly grace?: Grace;
  /** The rule's own thresholds; absent: WARN_AT. */
  readonly warnAt?: readonly number[];
}

/** The facts that only some decisions that allow have. */
interface AllowedDetails {
  /** The refusal if all rules in report mode were in force; absent: they would allow. */
  readonly reported?: RuledRefused | NoMatch;
  /** The refusal by a rule that only warns, if it were in force; absent: none. */
  readonly warned?: RuledRefused;
  /** Bounds that allow, but with a running grace or a reached threshold; absent: none. */
  readonly near?: readonly RuledAllowed[];
  /** Bounds that apply but could not be checked; absent: none. */
  readonly unasked?: readonly BoundScope[];
}

/** Declares that a decision never has these facts. */
type Without<Facts> = { readonly [Name in keyof Facts]?: never };

interface NotRuled extends Without<Details & AllowedDetails> {
  readonly group: null;
  readonly rule: null;
}

interface Disabled extends NotRuled {
  readonly by: 'disabled';
  readonly allowed: true;
  readonly step: null;
  readonly used: number;
  readonly limit: -1;
  readonly subjects: readonly ['size:all'];
}

interface Ruled extends Details {
  readonly by: 'rule';
  readonly step: PrecedenceStep;
  /**
   * The bytes that the deciding rule counts: with reserved bytes, without forgiven ones and those about to be
   * added. Bound of a push or a file: the incoming bytes.
   */
  readonly used: number;
  /** The reserved part of `used`. */
  readonly reserved: number;
  /** The bytes about to be added that count. */
  readonly incoming: number;
  /** The limit of the deciding rule, with the allowance; -1: unlimited. */
  readonly limit: number;
  /** Null for the built-in group, and so is `rule`. */
  readonly group: string | null;
  readonly rule: string | null;
  readonly subjects: readonly RuleSubject[];
}

export interface RuledAllowed extends Ruled, AllowedDetails {
  readonly allowed: true;
}

export interface RuledRefused extends Ruled, Without<AllowedDetails> {
  readonly allowed: false;
}

/** The refusal if no rule covers the subject, and `uncovered` is `deny`. */
interface NoMatch extends NotRuled {
  readonly by: 'no_match';
  readonly allowed: false;
  /** The step whose groups have no covering rule. */
  readonly step: PrecedenceStep;
  readonly used: null;
  readonly limit: null;
  readonly subjects: readonly [];
}

export type Decision = Disabled | RuledAllowed | RuledRefused | NoMatch;

export interface FullDisk {
  /** The unit of the numbers: a file system can be out of bytes, or of files (inodes). */
  readonly of: 'bytes' | 'files';
  readonly free: number;
  readonly size: number;
  /** The number that has to stay free. */
  readonly least: number;
}

/** The refusal because the disk is nearly full, whatever the owner's limits are. */
export interface DiskFull extends NotRuled {
  readonly by: 'disk';
  readonly allowed: false;
  readonly disk: FullDisk;
  readonly used: null;
  readonly limit: null;
  readonly subjects: readonly [];
}

/** A refusal in the form in which it is recorded. */
export interface RefusalRecord {
  readonly owner: string;
  readonly subject: Subject;
  /** Empty: unknown. */
  readonly actor: string;
  readonly decision: Decision | DiskFull;
  readonly mode: QuotaSettings['mode'];
}

/** A bound that applies to an action that was allowed, but could not be checked. */
export interface UnaskedRecord extends Pick<RefusalRecord, 'actor' | 'owner' | 'subject'> {
  readonly per: BoundScope;
}

const nothing = { allowed: false, used: null, limit: null, group: null, rule: null, subjects: [] } as const;

export function refusedByDisk(disk: FullDisk): DiskFull {
  return { by: 'disk', disk, ...nothing };
}

export function noMatch(step: PrecedenceStep): NoMatch {
  return { by: 'no_match', step, ...nothing };
}

/**
 * Tells whether a push that replaces history must be refused: nothing more is forgiven, and the push would
 * bring usage over twice the limit. Up to there, such pushes have room beside the forgiven bytes.
 */
export function isDiskFilled(decision: Decision | DiskFull, bringsBytes: number): boolean {
  if (decision.by !== 'rule' || decision.garbage === undefined) return false;
  const { garbage, used, limit } = decision;
  return garbage.unreachable >= garbage.most && used - limit + bringsBytes > limit;
}

/** Tells whether a refused action is allowed after `freedBytes` of unreachable data are deleted. */
export function passesWithout(
  { used, limit, incoming, garbage }: Ruled,
  freedBytes: number,
  { refuseWhen }: Pick<QuotaSettings, 'refuseWhen'>,
): boolean {
  if (limit <= 0) return false;
  const headroom = limit - used + freedBytes - (garbage === undefined ? 0 : forgivenOf(garbage, freedBytes));
  return refuseWhen === 'reached' ? headroom > incoming : headroom >= incoming;
}

/** Returns how many of the freed bytes were forgiven, and did not count anyway. */
function forgivenOf({ unreachable, most }: Garbage, freedBytes: number): number {
  return Math.min(unreachable, most) - Math.min(Math.max(0, unreachable - freedBytes), most);
}
