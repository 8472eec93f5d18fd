/** The options of a ledger, and the part of its units that others may read. */

import type { Kind } from '../documents/index.ts';
import type { Log } from '../log.ts';
import type { QuotaSettings } from '../quota/index.ts';
import type { Store, UnitSourceStore } from '../store/index.ts';
import type { Clock } from './clock.ts';
import type { UsageIndex } from './usage-index.ts';

/** With the names in DEFAULT_GROUPS. */
export type LedgerSettings = QuotaSettings & { readonly defaultGroups: readonly string[] };

export interface LedgerOptions {
  readonly store: Store;
  /** The sets of units that programs report; without it none can be put. */
  readonly unitSources?: UnitSourceStore;
  /** Names this host's part of the usage. */
  readonly host: string;
  readonly settings: LedgerSettings;
  /** The documents besides rules, groups and assignments; no decision depends on them. */
  readonly kinds?: readonly Kind<unknown>[];
  /** Owners' names compare without the case of ASCII letters. */
  readonly foldCase: boolean;
  readonly log: Log;
  /** The system's unless given. */
  readonly clock?: Clock;
}

/** The units of this host, to read. */
export type ReadableUnits = Pick<
  UsageIndex,
  | 'origins'
  | 'pathsBelow'
  | 'sizes'
  | 'spellings'
  | 'unit'
  | 'unitAt'
  | 'unitAtRow'
  | 'unitCount'
  | 'unitCountOf'
  | 'units'
  | 'unitsOf'
  | 'unowned'
  | 'walkedBefore'
  | 'walkedOf'
>;
