/** Users who want no mails about their own quota. */

import { z } from 'zod';
import type { ChangeSet, Kind, Snapshot } from '../documents/index.ts';
import { isoTime } from '../text/index.ts';

const preference = z.strictObject({ unsubscribedAt: z.number().int() });

/** By the owner's id; kept only for owners who want none. Milliseconds since 1970. */
export const mailPreferenceKind: Kind<Readonly<z.infer<typeof preference>>> = {
  name: 'mail-preference',
  durability: 'versioned',
  schema: preference,
  describe: (key, { unsubscribedAt }, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { unsubscribed_at: isoTime(unsubscribedAt) },
  }),
};

export function wantsMail(snapshot: Snapshot, ownerId: number): boolean {
  return snapshot.get(mailPreferenceKind, String(ownerId)) === undefined;
}

/** `now`: milliseconds since 1970. */
export function setMailWanted(changes: ChangeSet, ownerId: number, isWanted: boolean, now: number): void {
  const wanted = wantsMail(changes, ownerId);
  if (wanted === isWanted) return;
  if (isWanted) changes.remove(mailPreferenceKind, String(ownerId));
  else changes.put(mailPreferenceKind, String(ownerId), { unsubscribedAt: now });
}

/** When an owner goes. */
export function forgetMailPreference(changes: ChangeSet, ownerId: number): void {
  setMailWanted(changes, ownerId, true, 0);
}
