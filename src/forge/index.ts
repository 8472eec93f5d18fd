/**
 * The forge reader: finds in a forge's own database the owners, and the bytes that no walk can attribute.
 *
 * It only reads, with short statements, and works on its own thread. A reading reports the changes since the
 * previous one; after a fault the next reading connects again.
 */

export { readIniText } from './app-ini.ts';
export { ForgeFault, parseDatabaseAddress } from './database.ts';
export { triedSchemaVersion } from './gitea.ts';
export type { LfsObject } from './lfs-objects.ts';
export {
  type Chunk,
  type ForgeKind,
  type ForgeMembers,
  type ForgeOwner,
  type ForgeSettings,
  forgeKinds,
  forgeLeaves,
  type OddRows,
  type ReadMode,
  type RepositoryNames,
  type Unowned,
  unownedReasons,
} from './messages.ts';
export { probeForge, sqliteFileOf } from './open.ts';
export { type Claim, claimsIn, isAmong, type PlaceColumns } from './places.ts';
export { ForgeReader } from './reader.ts';
