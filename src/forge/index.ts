/**
 * The forge reader: reads from a forge's own database who owns what, and the bytes that no walk can
 * attribute.
 *
 * It only reads: in short statements, streamed and put together on a thread of its own. A reading tells what
 * is new since the one before; after a fault the next reading connects again.
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
  isAmong,
  type OddRows,
  ownerIdIn,
  type PlaceOwnerColumns,
  type ReadMode,
  type RepositoryNames,
  unownedReasons,
} from './messages.ts';
export { probeForge, sqliteFileOf } from './open.ts';
export { ForgeReader } from './reader.ts';
