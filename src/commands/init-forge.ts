/** The part of `softquota init` that is about a forge's database: whether it can be read, and as what. */

import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Config } from '../config/index.ts';
import { type ForgeFound, forgeReadFindings } from '../doctor/index.ts';
import { ForgeFault, type ForgeKind, probeForge, sqliteFileOf } from '../forge/index.ts';
import type { ObservedForge } from '../health/index.ts';
import { shellQuoted } from '../text/index.ts';

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
  readonly unowned: readonly { readonly reason: string; readonly count: number; readonly bytes: number }[];
}

/** Asks the database for its version and its tables; nothing is read yet. */
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
 * `account`: the daemon's user, who may not be allowed to read its files; null: the one who runs this.
 */
export async function afterReading(
  asked: ForgeReport,
  read: ObservedForge | null,
  config: Config,
  account: { readonly uid: number; readonly gid: number } | null,
): Promise<ForgeReport> {
  const findings =
    account === null || config.forge === null
      ? []
      : await forgeReadFindings(config.forge, account, process.env);
  const rights = findings.map(({ message, mend }) => ({ message, mend }));
  if (read === null) return { ...asked, rights };
  const fault = read.fault === null ? null : faultReport(read.fault);
  return { ...asked, fault, rights, unowned: read.unowned };
}

/**
 * A container's app.ini names the paths inside, and one in /etc may say nothing of the working directory:
 * then the file lies beside the data. Null: the one that app.ini names.
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

/** Without what else a fault has, such as its cause. */
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
