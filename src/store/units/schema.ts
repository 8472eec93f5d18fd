/** The tables of a set's file, and the mark by which it is known. */

/** `PRAGMA application_id`: "sqtu". It is written last, so that a file without it was never whole. */
export const applicationId = 0x73717475;

const most = Number.MAX_SAFE_INTEGER;
const size = (column: string) => `${column} INTEGER NOT NULL CHECK (${column} BETWEEN 0 AND ${most})`;

/**
 * Owners and leaves have numbers of the set's own, since a million units are sorted by them. Owners are told
 * apart as names compare when the set is made; `folded` finds them when `[users] CASE` has changed since.
 */
export const schema = `
PRAGMA user_version = 1;

CREATE TABLE about (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  source TEXT NOT NULL,
  ${size('reported_at')},
  ${size('stale_after_ms')}
) STRICT;

CREATE TABLE owners (
  id INTEGER NOT NULL PRIMARY KEY,
  folded TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE INDEX owners_folded ON owners (folded);

CREATE TABLE leaves (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE units (
  owner INTEGER NOT NULL,
  leaf INTEGER NOT NULL,
  name TEXT NOT NULL,
  ${size('bytes')},
  PRIMARY KEY (owner, leaf, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE sums (
  owner INTEGER NOT NULL,
  leaf INTEGER NOT NULL,
  ${size('units')},
  ${size('bytes')},
  PRIMARY KEY (owner, leaf)
) STRICT, WITHOUT ROWID;
`;
