/** An upload from its reservation to the report of what came. */

import type { QuotaLeaf } from './answers.ts';
import { QuotaExceededError, QuotaUnavailableError } from './errors.ts';
import type { QuotaClient, UploadInProgress } from './questions.ts';

export interface RoomKeeper {
  readonly client: Pick<QuotaClient, 'reserve' | 'changed'>;
  /** Bytes may be reported. */
  readonly trusted: boolean;
  readonly onUnavailable: (error: QuotaUnavailableError) => void;
}

interface PlannedUpload {
  readonly owner: string;
  readonly subject: QuotaLeaf;
  readonly size: number;
}

/** Half of the time for which room is reserved. */
const renewEveryMs = 300_000;

/** Does what QuotaClient.withQuota promises. */
export async function actInRoom<Result>(
  { client, trusted, onUnavailable }: RoomKeeper,
  { owner, subject, size }: PlannedUpload,
  action: (upload: UploadInProgress) => Result | Promise<Result>,
): Promise<Result> {
  const asked = await client.reserve({ owner, subject, size });
  if (!asked.allowed) throw new QuotaExceededError(asked.answer);
  const { reservation } = asked;
  // The upload is done, or has failed: a report that is lost now changes neither. The reservation ends by
  // itself, and the next walk finds the bytes.
  const report = (reporting: Promise<void>): Promise<void> =>
    reporting.catch((error: unknown) => {
      onUnavailable(
        error instanceof QuotaUnavailableError
          ? error
          : new QuotaUnavailableError(`the daemon does not take the report: ${String(error)}`, {
              cause: error,
            }),
      );
    });
  let bytes = size;
  const stored = (reported: number): void => {
    if (!Number.isSafeInteger(reported))
      throw new TypeError(`stored: expected a whole number, not ${reported}`);
    bytes = reported;
  };
  // The room is kept as long as the upload takes; if this process ends, the room is free again after ten
  // minutes at most.
  const renewing = setInterval(() => void report(reservation.renew().then(() => {})), renewEveryMs);
  let result: Result;
  try {
    result = await action({ owner, stored });
  } catch (error) {
    await report(reservation.release());
    throw error;
  } finally {
    clearInterval(renewing);
  }
  const id = reservation.id === null ? {} : { reservation: reservation.id };
  await report(trusted ? client.changed({ owner, subject, delta: bytes, ...id }) : reservation.release());
  return result;
}
