/** The `[forge]` section: its keys, and what it requires of others. */

import { resolve } from 'node:path';
import { type ForgeSettings, forgeKinds, parseDatabaseAddress } from '../forge/index.ts';
import { key, keysOf, type Values, type ValuesOf, withoutEffect } from './key.ts';
import { users } from './keys-policy.ts';
import * as kind from './kinds.ts';

/** Address of a forge's database. The password in it must not be shown. */
const databaseAddress: kind.ValueType<string> = {
  expected:
    'Write sqlite:/PATH, postgres://USER:PASSWORD@HOST:PORT/DATABASE or mysql://USER:PASSWORD@HOST:PORT/DATABASE, with user and password percent-encoded; a Unix socket is a percent-encoded path instead of HOST:PORT; ?sslmode=require or verify-full for TLS',
  parse: text => {
    const value = text.trim();
    const parsed = parseDatabaseAddress(value);
    return parsed.ok ? { ok: true, value } : parsed;
  },
  print: text => text,
};

export const forgeKeys = keysOf('forge', {
  kind: key('KIND', kind.optional(kind.oneOf(forgeKinds)), {
    doc: 'The forge whose database is read: it says who owns what, what is public, and the bytes that no walk can attribute. See [forges/gitea.md](forges/gitea.md), [forges/gogs.md](forges/gogs.md), [forges/gitlab.md](forges/gitlab.md).',
    example: 'gitea',
  }),
  configFile: key('CONFIG', kind.optional(kind.path), {
    doc: "The forge's own configuration file, from which the database's address is read at each connection.",
    example: '/etc/gitea/app.ini',
  }),
  database: key('DATABASE', kind.optional(databaseAddress), {
    words: 'the one that CONFIG names',
    doc: 'The address of the database, such as that of a replica, or with a user who can only read. It wins over CONFIG.',
    example: 'postgres://softquota:PASSWORD@db.example/gitea',
    secret: 'password',
  }),
  ownerLevel: key('OWNER', kind.oneOf(['top', 'namespace']), {
    text: 'top',
    doc: 'GitLab only: who owns what is in a subgroup: `top`: the top-level group; `namespace`: the subgroup itself, whose name is its full path. `[storage.*] OWNER = forge` follows it.',
  }),
  praefect: key('PRAEFECT', kind.optional(databaseAddress), {
    doc: "GitLab only: the address of Praefect's database, where this host has a storage of a Gitaly Cluster. See [forges/gitlab.md](forges/gitlab.md#gitaly-cluster).",
    example: 'postgres://softquota:PASSWORD@db.example/praefect',
    secret: 'password',
  }),
  praefectStorage: key('PRAEFECT_STORAGE', kind.optional(kind.line), {
    doc: "The name that this host's storage has in Praefect. It needs PRAEFECT, and PRAEFECT needs it.",
    example: 'gitaly-1',
  }),
});

/** Null without KIND. */
export function forgeSettings(values: Values, base: string): ForgeSettings | null {
  const { kind, configFile, database, ownerLevel, praefect, praefectStorage } = values.takeAll(forgeKeys);
  if (kind === null) return null;
  // A forge's directories are in lower case, and the names in its database are not.
  if (!values.take(users.foldCase)) {
    values.refuse(users.foldCase, 'keep would make two owners of one with [forge]. Write fold.');
  }
  if (configFile === null && database === null && !values.isFaulty(forgeKeys.database)) {
    const message = 'the forge needs [forge] CONFIG or DATABASE, which say where its database is.';
    values.refuse(forgeKeys.kind, message);
  }
  if (kind === 'gogs' && configFile === null && database !== null) {
    values.refuse(forgeKeys.kind, 'gogs needs [forge] CONFIG, too: its app.ini says where attachments are.');
  }
  if (kind === 'gitlab' && database !== null && !/^postgres/i.test(database)) {
    values.refuse(forgeKeys.database, 'GitLab has a PostgreSQL database. Write postgres://….');
  }
  if ((praefect === null) !== (praefectStorage === null) && !values.isFaulty(forgeKeys.praefect)) {
    const missing = praefect === null ? 'PRAEFECT' : 'PRAEFECT_STORAGE';
    values.refuse(forgeKeys.praefect, `[forge] ${missing} is missing: a Gitaly Cluster needs both.`);
  }
  if (praefect !== null && (kind !== 'gitlab' || !/^postgres/i.test(praefect))) {
    values.refuse(
      forgeKeys.praefect,
      'Only GitLab has it, and it is a PostgreSQL database. Write postgres://….',
    );
  }
  return {
    kind,
    configFile: configFile === null ? null : resolve(base, configFile),
    database,
    ownerLevel,
    praefect:
      praefect === null || praefectStorage === null ? null : { address: praefect, storage: praefectStorage },
  };
}

/** The values of the keys that settings were made of. */
export function forgeValues({ praefect, ...settings }: ForgeSettings): ValuesOf<typeof forgeKeys> {
  const { address = null, storage = null } = praefect ?? {};
  return { ...settings, praefect: address, praefectStorage: storage };
}

export function notesOnForge(forge: ForgeSettings | null, values: Values): readonly string[] {
  if (forge !== null) {
    return forge.kind === 'gitlab' || !values.isGiven(forgeKeys.ownerLevel)
      ? []
      : ['[forge] OWNER has an effect with KIND = gitlab only.'];
  }
  return withoutEffect(values, forgeKeys.kind, Object.values(forgeKeys));
}
