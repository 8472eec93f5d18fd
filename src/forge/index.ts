/**
 * The forge reader: finds in a forge's own database the owners, and the bytes that no walk can attribute.
 *
 * It only reads, with short statements, and works on its own thread. A reading reports the changes since the
 * previous one; after a fault the next reading connects again.
 */

export { readIniText } from './app-ini.ts';
export { ForgeFault, parseDatabaseAddress } from './database.ts';
export { triedSchemaVersion } from './gitea.ts';
export {
  type Chunk,
  type Claim,
  claimsIn,
  type ForgeKind,
  type ForgeMembers,
  type ForgeOwner,
  type ForgeSettings,
  forgeKinds,
  forgeLeaves,
  isAmong,
  type LfsObject,
  type OddRows,
  type PlaceColumns,
  type ReadMode,
  type RepositoryNames,
  type Unowned,
  unownedReasons,
} from './messages.ts';
export { probeForge, sqliteFileOf } from './open.ts';
export { ForgeReader } from './reader.ts';
