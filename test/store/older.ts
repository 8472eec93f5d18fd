/** Statements that make a store of this version one of an older version. */

/** Leads back to the version of the first release. A further step puts what takes it back before this. */
export const backToVersion8 = `
DROP TABLE unit_sets;
DROP TABLE set_units;
DROP TABLE staged_units;
ALTER TABLE lineage ADD COLUMN departed TEXT NOT NULL DEFAULT '[]';
PRAGMA user_version = 8;
`;
