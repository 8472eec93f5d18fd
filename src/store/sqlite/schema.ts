/**
 * The tables, and the numbers by which a file is known to be a store.
 *
 * Names, ids and owners are BLOBs (see wtf8.ts). A leaf is stored by its name, so that the order of the
 * leaves may change. Device and inode are decimal digits, since those of a file system may exceed SQLite's
 * largest integer, 2^63 - 1.
 *
 * A change of these tables needs a new `schemaVersion`, with the statements that lead there from the version
 * before. No table depends on the kinds of policy: a new kind is a document.
 */

import { leaves } from '../../quota/index.ts';

/** `PRAGMA application_id`: "sqta". A database without it belongs to another program. */
export const applicationId = 0x73717461;

/** `PRAGMA user_version`. */
export const schemaVersion = 11;

const limit = Number.MAX_SAFE_INTEGER;
const size = (column: string) => `${column} INTEGER NOT NULL CHECK (${column} BETWEEN 0 AND ${limit})`;
const whole = (column: string) =>
  `${column} INTEGER NOT NULL CHECK (${column} BETWEEN -${limit} AND ${limit})`;

/** The versions of the shared policy that led to the one in `adopted`, and that one itself. */
const lineage = (table: string) => `
CREATE TABLE ${table} (
  ${whole('version')} PRIMARY KEY,
  mark BLOB NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * The sets that sources report: a source has one complete set, and may have others that are being made. Names
 * are text here, since none has a NUL or a lone surrogate. Owners are distinguished by the comparison of
 * names at the time of the report; `folded` finds them if `[users] CASE` has changed since.
 */
const sets = `
CREATE TABLE unit_sets (
  number INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  reported_at INTEGER CHECK (reported_at BETWEEN 0 AND ${limit}), -- NULL: not whole
  stale_after_ms INTEGER CHECK (stale_after_ms BETWEEN 0 AND ${limit})
) STRICT;

CREATE TABLE set_units (
  set_number INTEGER NOT NULL,
  folded TEXT NOT NULL,
  owner TEXT NOT NULL,
  leaf TEXT NOT NULL,
  name TEXT NOT NULL,
  ${size('bytes')},
  PRIMARY KEY (set_number, folded, owner, leaf, name)
) STRICT, WITHOUT ROWID;

-- Units of sets that are being made, as they come.
CREATE TABLE staged_units (
  set_number INTEGER NOT NULL,
  line INTEGER NOT NULL,
  folded TEXT NOT NULL,
  owner TEXT NOT NULL,
  leaf TEXT NOT NULL,
  name TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (set_number, line)
) STRICT, WITHOUT ROWID;
`;

const leafSizes = leaves.map(leaf => size(`"${leaf}"`)).join(',\n  ');

export const schema = `
PRAGMA application_id = ${applicationId};
PRAGMA user_version = ${schemaVersion};

CREATE TABLE units (
  id BLOB NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('walked', 'reported')),
  host BLOB NOT NULL,
  name BLOB, -- NULL: the same as id, as of every walked unit
  owner BLOB,
  leaf TEXT NOT NULL,
  ${size('bytes')},
  ${size('files')},
  partial INTEGER NOT NULL CHECK (partial IN (0, 1)),
  ${whole('measured_at')},
  ${whole('seq')},
  ${size('reachable')} DEFAULT 0, -- 0 and 0: all are reachable, or that is not known
  ${size('unreachable')} DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE deltas (
  ${whole('seq')} PRIMARY KEY,
  owner BLOB NOT NULL,
  leaf TEXT NOT NULL,
  ${whole('bytes')},
  ${whole('at')}
) STRICT, WITHOUT ROWID;

CREATE TABLE owners (
  key BLOB NOT NULL PRIMARY KEY,
  ${whole('id')},
  name BLOB NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('user', 'organization')),
  ${whole('since')}
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
  kind BLOB NOT NULL,
  key BLOB NOT NULL,
  text BLOB NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- Events are read newest first, by kind or by owner. Rows may be long, and so have ids of their own.
CREATE TABLE events (
  id BLOB NOT NULL PRIMARY KEY,
  kind BLOB NOT NULL,
  ${whole('at')},
  owner_id INTEGER CHECK (owner_id BETWEEN -${limit} AND ${limit}),
  owner_key BLOB,
  text BLOB NOT NULL
) STRICT;
CREATE INDEX events_by_time ON events (at, id);
CREATE INDEX events_by_kind ON events (kind, at, id);
CREATE INDEX events_by_owner_id ON events (owner_id, at, id) WHERE owner_id IS NOT NULL;
CREATE INDEX events_by_owner_key ON events (owner_key, at, id) WHERE owner_key IS NOT NULL;

CREATE TABLE levels (
  ${whole('owner_id')} PRIMARY KEY,
  text BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Shares of owners on other hosts, and the position of the policy that was taken over from the shared store.
CREATE TABLE shares (
  owner_key BLOB NOT NULL,
  host BLOB NOT NULL,
  text BLOB NOT NULL, -- words, see share.ts
  PRIMARY KEY (owner_key, host)
) STRICT, WITHOUT ROWID;

-- One row, or none.
CREATE TABLE adopted (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  generation BLOB NOT NULL,
  ${whole('version')},
  mark BLOB NOT NULL
) STRICT, WITHOUT ROWID;
${lineage('lineage')}
-- The usage history: the sum of all owners at each recorded hour, and each owner's usage from an hour on.
CREATE TABLE history_hours (
  ${size('hour')} PRIMARY KEY,
  ${whole('at')},
  ${leafSizes}
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
  ${whole('owner_id')},
  ${size('hour')},
  ${leafSizes},
  PRIMARY KEY (owner_id, hour)
) STRICT, WITHOUT ROWID;
${sets}

CREATE TABLE roots (
  path BLOB NOT NULL PRIMARY KEY,
  device TEXT NOT NULL,
  inode TEXT NOT NULL,
  file_system BLOB -- NULL: not known
) STRICT, WITHOUT ROWID;

-- The last sweep that ended: one row, or none.
CREATE TABLE sweep (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  ${whole('started_at')},
  ${whole('finished_at')},
  ${size('units')}
) STRICT, WITHOUT ROWID;
`;

/** Makes words of shares that were written as JSON. */
const wordsOfShares = `
UPDATE shares SET text = CAST(concat_ws(' ',
  (SELECT group_concat(substr(key, 6) || '=' || value, ' ') FROM json_each(CAST(text AS TEXT), '$.bytes')),
  (SELECT group_concat('unreachable:' || substr(key, 6) || '=' || value, ' ')
    FROM json_each(CAST(text AS TEXT), '$.unreachable')),
  'units=' || (CAST(text AS TEXT) ->> 'units'),
  'partial=' || (CAST(text AS TEXT) ->> 'partial'),
  'measured=' || (CAST(text AS TEXT) ->> 'measuredAt')
) AS BLOB);
`;

/** The version of the first release. */
export const oldestVersion = 8;

/** Statements that upgrade each version to the next. */
const steps: ReadonlyMap<number, string> = new Map([
  [oldestVersion, sets],
  [
    9,
    `${lineage('lineage_now')}
INSERT INTO lineage_now (version, mark) SELECT version, mark FROM lineage;
DROP TABLE lineage;
ALTER TABLE lineage_now RENAME TO lineage;`,
  ],
  [10, wordsOfShares],
]);

/** Returns the statements that upgrade a store from that version; empty if it is up to date. */
export function upgradeFrom(version: number): string {
  if (version === schemaVersion) return '';
  const step = steps.get(version);
  if (step === undefined) throw new Error(`no step leads on from version ${version}`);
  return `${step} PRAGMA user_version = ${version + 1}; ${upgradeFrom(version + 1)}`;
}
