/** Documents that remember which owner is which one of the forge. */

import { z } from 'zod';
import type { Documents, Kind, Snapshot } from '../../documents/index.ts';

const link = z.strictObject({
  owner: z.number().int(),
  name: z.string(),
  type: z.enum(['user', 'organization']),
  email: z.string(),
  isAdmin: z.boolean(),
});

/**
 * `owner` is an owner's id; the rest is as the forge last had it, so that only what changes there is taken
 * over.
 */
export type ForgeLink = Readonly<z.infer<typeof link>>;

/**
 * By the forge's own id. The next reading makes lost ones again by the names, so they are volatile: they are
 * in no backup, and the audit log shows what they lead to instead.
 */
export const forgeLinkKind: Kind<ForgeLink> = {
  name: 'forge_link',
  durability: 'volatile',
  schema: link,
  ownerOf: ({ owner }) => owner,
};

export const forgeLinkKinds: readonly Kind<unknown>[] = [forgeLinkKind];

/** The id in the forge of whom an owner is; undefined for an owner who is not of the forge. */
export function forgeIdOf(snapshot: Snapshot, ownerId: number): number | undefined {
  for (const [key] of snapshot.ofOwner(forgeLinkKind, ownerId)) return Number(key);
  return undefined;
}

/** The name of the owner who is linked to an id of the forge; null if none is. */
export function ownerNameOf(
  { snapshot, owners }: Pick<Documents, 'snapshot' | 'owners'>,
  forgeId: number,
): string | null {
  const link = snapshot.get(forgeLinkKind, String(forgeId));
  return link === undefined ? null : (owners.byId(link.owner)?.name ?? null);
}
