/** Statements that make a store of this version one of an older version. */

/** Leads back to version 7, as far as tables go. The one who adds a step puts what takes it back before this. */
export const backToVersion7 = `
DROP TABLE unit_sets;
DROP TABLE set_units;
DROP TABLE staged_units;
ALTER TABLE units DROP COLUMN reachable;
ALTER TABLE units DROP COLUMN unreachable;
PRAGMA user_version = 7;
`;
