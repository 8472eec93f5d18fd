/**
 * Checks the forge's configuration and database without the daemon: the daemon's user has to be able to read
 * them, and the database has to answer and to have the tables.
 */

import { existsSync, statSync } from 'node:fs';
import { groupName, userName, userWords } from '../accounts.ts';
import { readBounded } from '../bounded/index.ts';
import type { Config } from '../config/index.ts';
import {
  ForgeFault,
  type ForgeSettings,
  parseDatabaseAddress,
  probeForge,
  sqliteFileOf,
} from '../forge/index.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { encodePath } from '../layout/index.ts';
import { unitFolders } from '../supervised.ts';
import { printable } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import { type HookUser, type Installation, type Report, restart } from './installation.ts';
import { statusOf } from './paths.ts';
import { type Blocked, blockedFor, blockedWords, mayAskFor } from './rights.ts';

/** `isHeard`: the daemon has reported its own findings, those about the forge among them. */
export async function checkForge(
  report: Report,
  { loaded, context }: Installation,
  isHeard: boolean,
): Promise<void> {
  const { forge, server } = loaded.config;
  if (forge === null || isHeard) return;
  // DATA_PATH belongs to the daemon's user.
  const user = statusOf(server.dataPath);
  if (user !== null && mayAskFor(context.uid, user))
    report.findings.push(...(await forgeReadFindings(loaded.config, user, process.env)));
  else if (user !== null)
    report.missed.push(`whether ${printable(userWords(user.uid))} can read the forge's database`);
  try {
    const { database } = await probeForge(forge, process.env);
    report.checked.push(`the forge's database, ${database}, and its tables`);
  } catch (error) {
    if (!(error instanceof ForgeFault)) throw error;
    const isOther = error.code === 'rights' && user !== null && user.uid !== context.uid && context.uid !== 0;
    // The daemon's user may read files that this user may not.
    if (isOther) report.missed.push("the forge's database");
    else report.found('forge_away', printable(error.message), error.mend);
  }
}

/** Findings about the files that a user has to read for the forge's database: empty if all can be read. */
export async function forgeReadFindings(
  { forge, file }: Pick<Config, 'forge' | 'file'>,
  user: HookUser,
  env: NodeJS.ProcessEnv,
): Promise<readonly Finding[]> {
  if (forge === null || serviceReadsAll(user)) return [];
  const files = neededFiles(forge, env).map(path => ({ path, right: 'read' as const }));
  const blocked = await blockedFor(user, files);
  const places = new Map(blocked.map(block => [block.at, block]));
  return [...places.values()].map(block =>
    makeFinding('forge_away', `${blockedWords(block)}, so the forge cannot be read`, readMend(block, file)),
  );
}

function neededFiles(
  { kind, configFile, database }: ForgeSettings,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  if (database !== null) {
    const parsed = parseDatabaseAddress(database);
    // Gogs' own file also says where attachments are.
    const own = kind === 'gogs' && configFile !== null ? [configFile] : [];
    return parsed.ok && parsed.value.engine === 'sqlite' ? [...own, parsed.value.path] : own;
  }
  if (configFile === null) return [];
  try {
    const file = sqliteFileOf(kind, configFile, env);
    return file === null ? [configFile] : [configFile, file];
  } catch (error) {
    // `probeForge` says what is wrong with the file.
    if (error instanceof ForgeFault) return [configFile];
    throw error;
  }
}

/** Gives the right to the group, since these files have secrets that others must not read. */
function readMend({ at, right, user }: Blocked, file: string | null): string {
  const { gid, mode } = statSync(encodePath(at));
  const name = userName(user.uid);
  const [letter, bit] = right === 'search' ? ['x', 0o010] : ['r', 0o040];
  // Root's group can read much else, and a user without a name can be in no group.
  if (gid === 0 || name === null) return commandLine('setfacl', '-m', `u:${name ?? user.uid}:${letter}`, at);
  const open = (mode & Number(bit)) === 0 ? `${commandLine('chmod', `g+${letter}`, at)} && ` : '';
  return `${open}${commandLine('usermod', '-a', '-G', groupName(gid), name)}, then ${restart(file)}`;
}

const unit = 'softquota.service';

/**
 * Returns true if the package's unit runs as this user, and lets it read every file. False if there is no
 * such unit, or if a drop-in may change it.
 */
export function serviceReadsAll(user: HookUser, folders: readonly string[] = unitFolders): boolean {
  const folder = folders.find(each => existsSync(`${each}/${unit}`));
  if (folder === undefined || folders.some(each => existsSync(`${each}/${unit}.d`))) return false;
  const found = readBounded(`${folder}/${unit}`, { follow: true });
  if (found.kind !== 'file') return false;
  const text = found.bytes.toString();
  const [, name] = /^User=(.+)$/m.exec(text) ?? [];
  return name === userName(user.uid) && /^AmbientCapabilities=.*\bCAP_DAC_READ_SEARCH\b/m.test(text);
}
