/** Finds out for `softquota init` if a forge's database can be read, and where it is. */

import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Config } from '../config/index.ts';
import { type ForgeFound, forgeReadFindings } from '../doctor/index.ts';
import { ForgeFault, type ForgeKind, probeForge, sqliteFileOf, type Unowned } from '../forge/index.ts';
import type { ObservedForge } from '../health/index.ts';
import { shellQuoted } from '../text.ts';

type FaultReport = Pick<ForgeFault, 'code' | 'message' | 'mend'>;

export interface ForgeReport {
  readonly kind: string;
  /** The forge's own configuration file; null if none was taken. */
  readonly config: string | null;
  /** The address that is used instead of the one in `config`; null: none. */
  readonly address: string | null;
  /** The name and version of the database; null if it does not answer. */
  readonly database: string | null;
  readonly schema_version: number | null;
  /** Why its figures do not count; null if they do. */
  readonly fault: FaultReport | null;
  /** The reasons why the daemon cannot read files that this user can read, each with its fix. */
  readonly rights: readonly { readonly message: string; readonly mend: string }[];
  /** Stored bytes that have no owner in the database. */
  readonly unowned: readonly Unowned[];
}

/** Checks the version and the tables of the database; reads no rows yet. */
export async function askForge(found: ForgeFound, env: NodeJS.ProcessEnv): Promise<ForgeReport> {
  const { kind, configFile, databases } = found;
  const report = { kind, config: configFile, address: null, database: null, schema_version: null };
  const nothing = { fault: null, rights: [], unowned: [] };
  if (configFile === null) return { ...report, ...nothing, fault: notConfigured(found) };
  let address: string | null = null;
  try {
    address = addressFor(kind, configFile, databases, env);
    const settings = { kind, configFile, database: address, ownerLevel: 'top', praefect: null } as const;
    const { database, schemaVersion } = await probeForge(settings, env);
    return { ...report, address, database, schema_version: schemaVersion, ...nothing };
  } catch (error) {
    if (!(error instanceof ForgeFault)) throw error;
    return { ...report, address, ...nothing, fault: faultReport(error) };
  }
}

/**
 * Completes the report once the daemon has read the database, which may fail although it answered before.
 * `account`: the daemon's user, who may not be allowed to read the files; null: the user who runs this.
 */
export async function afterReading(
  asked: ForgeReport,
  read: ObservedForge | null,
  config: Config,
  account: { readonly uid: number; readonly gid: number } | null,
): Promise<ForgeReport> {
  const findings = account === null ? [] : await forgeReadFindings(config, account, process.env);
  const rights = findings.map(({ message, mend }) => ({ message, mend }));
  if (read === null) return { ...asked, rights };
  const fault = read.fault === null ? null : faultReport(read.fault);
  return { ...asked, fault, rights, unowned: read.unowned };
}

/**
 * Finds the SQLite file if the path in the forge's app.ini does not exist here: a container's app.ini has
 * paths inside the container, and one in /etc may lack the working directory. Null: the app.ini's own address
 * can be used, or no file was found.
 */
function addressFor(
  kind: ForgeKind,
  configFile: string,
  databases: readonly string[],
  env: NodeJS.ProcessEnv,
): string | null {
  const named = sqliteFileOf(kind, configFile, env);
  if (named === null || existsSync(named)) return null;
  const alike = databases.filter(path => basename(path) === basename(named));
  const path = [...alike, ...databases].find(path => existsSync(path));
  return path === undefined ? null : `sqlite:${path}`;
}

/** Drops the other fields of a fault, such as its cause. */
function faultReport({ code, message, mend }: FaultReport): FaultReport {
  return { code, message, mend };
}

function notConfigured({ kind, passedOver }: ForgeFound): FaultReport {
  if (passedOver === null) {
    return {
      code: 'configuration',
      message: `no ${kind === 'gitlab' ? 'gitlab.rb or database.yml' : `app.ini of ${kind}`} is where one usually is`,
      mend: 'find it, and name it with --forge-config FILE',
    };
  }
  const { file, why } = passedOver;
  const reason = why === 'closed' ? 'this user may not read it' : 'only a hook of a repository names it';
  const first =
    why === 'closed' ? 'run init as root, or let this user read it' : "check that it is the forge's";
  return {
    code: 'configuration',
    message: `${file} was not taken as the configuration of ${kind}: ${reason}`,
    mend: `${first}; then name it: --forge-config ${shellQuoted(file)}`,
  };
}
