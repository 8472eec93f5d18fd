/** Turns errors of SQLite and the system into the codes and texts that users read. */

import { type ErrorCode, messageOf, SoftquotaError, systemCode } from '../../errors.ts';

/** The primary result codes of SQLite that have texts of their own. */
const sqlite = {
  /** A statement that does not fit the tables. */
  error: 1,
  busy: 5,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  notADatabase: 26,
} as const;

/** SQLITE_IOERR_SHMSIZE: there is no room for the -shm file. */
const noRoomForIndex = 4874;

/** Returns the extended result code of an error of SQLite; null for any other error. */
function resultCode(error: unknown): number | null {
  if (error instanceof Error && 'errcode' in error && typeof error.errcode === 'number') return error.errcode;
  return null;
}

function primaryCode(error: unknown): number | null {
  const code = resultCode(error);
  return code === null ? null : code & 0xff;
}

/**
 * Tells whether SQLite could not make the -shm file, which a read-only connection needs for a log, for lack
 * of space.
 */
export function lacksIndexRoom(error: unknown): boolean {
  return resultCode(error) === noRoomForIndex || primaryCode(error) === sqlite.cannotOpen;
}

/** Tells whether the write itself is faulty, and would fail again. */
export function isFaultOfWrite(error: unknown): boolean {
  const code = primaryCode(error);
  return code === null || code === sqlite.constraint;
}

/** The error for a file with content that no daemon wrote, or that has lost content. */
export function damaged(file: string, what: string, cause?: unknown): SoftquotaError {
  return new SoftquotaError(
    'store_refused',
    `${file} is damaged: ${what}. It was left as it is. Put a backup in its place, or move it and (if there) ` +
      `${file}-wal aside and start again: usage is measured again then, but rules, groups and users that ` +
      'were kept in it have to be entered again.',
    { cause },
  );
}

export function inUse(file: string, cause?: unknown): SoftquotaError {
  return new SoftquotaError(
    'store_refused',
    `${file} is in use by another softquota daemon. One file serves one daemon: stop the other, or give this one ` +
      'a DATA_PATH of its own.',
    { cause },
  );
}

export function refusalOf(file: string, error: unknown): SoftquotaError {
  if (error instanceof SoftquotaError) return error;
  switch (primaryCode(error)) {
    case sqlite.busy:
      return inUse(file, error);
    case sqlite.error:
    case sqlite.corrupt:
    case sqlite.notADatabase:
      return damaged(file, messageOf(error), error);
  }
  const advice =
    systemCode(error) === 'ENOSPC' || primaryCode(error) === sqlite.full
      ? 'The disk is full: make room for it'
      : 'It is expected to be a file that the daemon may read and write, in a directory where it may create files';
  return new SoftquotaError('store_refused', `${file} cannot be opened: ${messageOf(error)}. ${advice}.`, {
    cause: error,
  });
}

export function unreadable(file: string, table: string, error: unknown): SoftquotaError {
  const code = primaryCode(error);
  if (code !== null && code !== sqlite.corrupt) return failureOf(file, error);
  return damaged(file, `the table ${table} cannot be read (${messageOf(error)})`, error);
}

/** The error for a write or a read that failed. */
export function failureOf(file: string, error: unknown): SoftquotaError {
  if (error instanceof SoftquotaError) return error;
  const code = primaryCode(error);
  if (code === null) {
    return new SoftquotaError('internal', `${file}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (code === sqlite.constraint) {
    return new SoftquotaError(
      'invalid',
      `${file} took nothing of a write with a faulty record: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  return away(file, reasons.get(code) ?? messageOf(error), error);
}

const reasons: ReadonlyMap<number, string> = new Map([
  [sqlite.full, 'the disk is full'],
  [sqlite.readonly, 'it cannot be written (is the file system read-only?)'],
  [sqlite.ioError, 'the disk reports an error when it is read or written'],
  [sqlite.corrupt, 'it has been damaged while it was open; the next start will say more'],
]);

/** The error for a store that cannot be used now, but may be later. */
export function away(file: string, reason: string, cause?: unknown): SoftquotaError {
  return new SoftquotaError('store_away', `${file} cannot be used at the moment: ${reason}`, { cause });
}

/** A `SoftquotaError`; between threads an error would lose its class and its code. */
export interface StoreFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly cause: unknown;
}

export function storeFaultOf(error: SoftquotaError): StoreFault {
  const { code, message, cause } = error;
  return { code, message, cause: cause instanceof Error ? cause.message : undefined };
}

export function errorOf({ code, message, cause }: StoreFault): SoftquotaError {
  return new SoftquotaError(code, message, { cause });
}
