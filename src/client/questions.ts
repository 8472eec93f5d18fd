/** The questions and reports of programs, and the client that takes them. */

import type { QuotaAnswer, QuotaLeaf, QuotaSubject, QuotaUnavailableError, QuotaUsage } from './answers.ts';

export interface ClientOptions {
  /**
   * The path of the socket; `/run/softquota/gate.sock` unless given ([server] SOCKET), and with `trusted`
   * `/run/softquota/trusted.sock` ([server] TRUSTED_SOCKET).
   */
  readonly socket?: string;
  /** True if the socket is TRUSTED_SOCKET, which `usage` and reports of bytes need; false unless given. */
  readonly trusted?: boolean;
  /** Milliseconds for a call with all its tries, from 100 to 60,000; 2,000 unless given. */
  readonly timeoutMs?: number;
  /**
   * Decides for `check`, `reserve` and `withQuota` if the daemon does not answer: allow the upload (unless
   * given otherwise), deny it, or throw QuotaUnavailableError.
   */
  readonly onError?: 'allow' | 'deny' | 'throw';
  /** Called each time the daemon does not answer, for example to log it. */
  readonly onUnavailable?: (error: QuotaUnavailableError) => void;
}

export interface OwnerQuestion {
  readonly owner: string;
  readonly subject: QuotaSubject;
  /** Bytes about to be added, if they are known. */
  readonly size?: number;
  /** The user who acts, for the record. */
  readonly actor?: string;
}

export interface PathQuestion extends Omit<OwnerQuestion, 'owner' | 'subject'> {
  /** The absolute path of a unit, or of anything inside one. */
  readonly path: string;
  readonly subject?: QuotaSubject;
}

export type ReservationQuestion = (
  | Omit<OwnerQuestion, 'size' | 'actor'>
  | Omit<PathQuestion, 'size' | 'actor'>
) & {
  /** Bytes. */
  readonly size: number;
  /** 600 unless given, at most 3,600. */
  readonly seconds?: number;
};

export interface QuotaReservation {
  /** Null if nothing is reserved: in report mode beyond a limit, or because the daemon did not answer. */
  readonly id: string | null;
  readonly expiresAt: Date | null;
  /** Set if the daemon did not answer, and `onError` allowed the upload. */
  readonly error: Error | null;
  /**
   * Keeps the room for so many seconds from now (600 unless given). Returns the new end, or null if nothing
   * is reserved.
   */
  renew(seconds?: number): Promise<Date | null>;
  /** Frees the room. Does no harm if the reservation has expired, or if it is called again. */
  release(): Promise<void>;
}

export type ReservationAnswer =
  | { readonly allowed: true; readonly reservation: QuotaReservation }
  | { readonly allowed: false; readonly answer: QuotaAnswer };

export interface PathChange {
  /** The path of a unit, which the daemon measures again soon. */
  readonly path: string;
  /** The id of a reservation that this ends. */
  readonly reservation?: string;
}

/** Bytes that were added or removed; needs `trusted`. */
export interface OwnerChange {
  readonly owner: string;
  readonly subject: QuotaLeaf;
  /** Bytes; negative if they were removed. */
  readonly delta: number;
  readonly reservation?: string;
}

/** An upload that `withQuota` has allowed. */
export interface UploadInProgress {
  readonly owner: string;
  /** Reports how many bytes were really stored, if not `size`. */
  stored(bytes: number): void;
}

export interface QuotaClient {
  /** Asks whether an upload may start. Rejects with QuotaRequestError if the question is wrong. */
  check(question: OwnerQuestion | PathQuestion): Promise<QuotaAnswer>;
  /** Asks the same, and reserves the room for `seconds` (600 unless given, at most 3,600). */
  reserve(question: ReservationQuestion): Promise<ReservationAnswer>;
  /** Reports a change. Rejects if the daemon does not accept it, whatever `onError` is. */
  changed(change: PathChange | OwnerChange): Promise<void>;
  /**
   * Reserves room, runs `action` and returns its result; then frees the room, and with `trusted` reports the
   * bytes. If the quota refuses, rejects with QuotaExceededError without running `action`.
   */
  withQuota<Result>(
    owner: string,
    subject: QuotaLeaf,
    size: number,
    action: (upload: UploadInProgress) => Result | Promise<Result>,
  ): Promise<Result>;
  /** Returns the usage of an owner; needs `trusted`. */
  usage(owner: string): Promise<QuotaUsage>;
  /** Closes the connections. Calls under way fail. */
  close(): void;
}
