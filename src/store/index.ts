/**
 * The stores of documents and usage.
 *
 * A `Store` keeps records without interpreting them. It takes them in atomic writes that are on the disk once
 * acknowledged, and returns all of them on request.
 */

import type { RedisSettings } from './redis/connection.ts';
import type { SharedStore } from './redis/store.ts';

export type {
  DocumentRecord,
  EventQuery,
  EventRecord,
  LargeUnit,
  LevelRecord,
  OwnerRecord,
  Position,
  RecordStore,
  Records,
  ShareRecord,
} from './record-store.ts';
export { eventPages, newGeneration, newMark } from './record-store.ts';
export type { RedisSettings } from './redis/connection.ts';
export type { SharedStore } from './redis/store.ts';
export { usageIn, usageText } from './share.ts';
export type {
  ClaimOutcome,
  DocumentNames,
  HostClaim,
  HostRecord,
  HostRoot,
  PolicyChange,
  PolicyRead,
  PolicyRecords,
  PolicySince,
  ServerAdvice,
  SharedPolicy,
  SharedState,
  TellUsage,
  ToldShare,
  VolatileChange,
  VolatileWrite,
} from './shared.ts';
export { ownerShape, placeIn, whole } from './shared.ts';
export { openStore } from './sqlite/store.ts';
export type {
  Changes,
  DeltaRecord,
  HistoryStore,
  OwnerUsageRecord,
  PastUsage,
  ReachRecord,
  ReplicatedPosition,
  RootRecord,
  Store,
  StoredRecords,
  SweepRecord,
  UnitRecord,
  UnitSetRecord,
  UnitSourceStore,
  UnitSum,
} from './store.ts';
export { type Away, AwayState, mostEvents, WriteBehind } from './write-behind.ts';

/**
 * Opens the store that hosts share. Rejects with `store_refused` if it belongs to another program, is of a
 * newer softquota, or denies access.
 */
export async function openRedisStore(settings: RedisSettings): Promise<SharedStore> {
  const { openRedis } = await import('./redis/store.ts');
  return openRedis(settings);
}
