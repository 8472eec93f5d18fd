/** The `[forge]` section, and what it asks of others. */

import { resolve } from 'node:path';
import type { ForgeSettings } from '../forge/index.ts';
import type { Config } from './config.ts';
import { forgeKeys } from './keys-forge.ts';
import { users } from './keys-policy.ts';
import { type Values, withoutEffect } from './values.ts';

/** Null without KIND. */
export function forgeSettings(values: Values, base: string): ForgeSettings | null {
  const { kind, configFile, database, ownerLevel } = values.takeAll(forgeKeys);
  if (kind === null) return null;
  if (configFile === null && database === null && !values.isFaulty(forgeKeys.database)) {
    values.refuse(
      forgeKeys.kind,
      'the forge needs [forge] CONFIG or DATABASE, which say where its database is.',
    );
  }
  if (kind === 'gogs' && configFile === null && database !== null) {
    values.refuse(forgeKeys.kind, 'gogs needs [forge] CONFIG, too: its app.ini says where attachments are.');
  }
  if (kind === 'gitlab' && database !== null && !/^postgres/i.test(database)) {
    values.refuse(forgeKeys.database, 'GitLab has a PostgreSQL database. Write postgres://….');
  }
  return {
    kind,
    configFile: configFile === null ? null : resolve(base, configFile),
    database,
    ownerLevel,
  };
}

/** A forge's directories are in lower case, and the names in its database are not. */
export function refuseCaseOfForge(config: Config, values: Values): void {
  if (config.forge === null || config.users.foldCase) return;
  values.refuse(users.foldCase, 'keep would make two owners of one with [forge]. Write fold.');
}

/** Keys that have no effect. */
export function notesOnForge({ forge }: Config, values: Values): readonly string[] {
  if (forge !== null) {
    return forge.kind === 'gitlab' || !values.isGiven(forgeKeys.ownerLevel)
      ? []
      : ['[forge] OWNER has an effect with KIND = gitlab only.'];
  }
  return withoutEffect(values, forgeKeys.kind, Object.values(forgeKeys));
}
