/** The documents' surroundings: what they work with, and whom they tell. */

import type { OwnerRecord, WriteBehind } from '../store/index.ts';
import type { EventLog } from './event-log.ts';
import type { OwnerRegistry } from './owner-registry.ts';

/** The usage that documents have to know of. */
export interface UsageOfOwners {
  /** Number of units of an owner, on all hosts. */
  unitCountOf(ownerKey: string): number;
  /** Tells whether anything is stored or reported of an owner. */
  hasUsage(ownerKey: string): boolean;
}

export interface DocumentsOptions {
  readonly owners: OwnerRegistry;
  readonly writeBehind: Pick<WriteBehind, 'now' | 'owner' | 'ownerGone' | 'applied'>;
  readonly usage: UsageOfOwners;
  readonly eventLog: Pick<EventLog, 'enqueue'>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Called when something has come into force. */
  onApplied(applied: Applied): void;
}

/** A change that has come into force. */
export interface Applied {
  /** By the kind's name and the key. */
  readonly documents: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  readonly owners: readonly OwnerRecord[];
  /** Owners who were to go and have usage: each is somebody new now. */
  readonly renewedOwners: readonly OwnerRecord[];
  readonly goneOwners: readonly string[];
}
