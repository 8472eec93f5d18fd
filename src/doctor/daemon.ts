/**
 * Checks the daemon: its configuration and the permissions of those files, its answers, version and own
 * findings, its gate, who may use or replace its sockets, and the free space for its data.
 */

import { statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { accountsIn, groupName, userName } from '../accounts.ts';
import * as config from '../config/index.ts';
import { SoftquotaError, systemCode } from '../errors.ts';
import { commandLine } from '../health/index.ts';
import { exposureOf } from '../service/index.ts';
import { startCommand } from '../supervised.ts';
import { formatBytes, printable } from '../text.ts';
import { version } from '../version.ts';
import { finding as findingShape, versionReport } from '../wire/index.ts';
import {
  type Ask,
  type HostContext,
  type Installation,
  type Loaded,
  localized,
  type Report,
  restart,
  setKey,
  softquota,
} from './installation.ts';
import { modeOf, statusOf } from './paths.ts';

export function checkFaults(report: Report, { loaded, context }: Pick<Loaded, 'loaded' | 'context'>): void {
  for (const fault of loaded.ok ? [] : loaded.faults)
    report.found('config', config.formatFaults([fault]), mendOf(fault, context));
  for (const note of loaded.notes) report.found('config_note', printable(note), '');
}

function mendOf({ file, line, section, variable }: config.ConfigFault, context: HostContext): string {
  if (line !== undefined || section !== undefined || variable !== undefined) {
    const check = softquota(context, 'serve', '--check-config');
    return `correct this line; ${check} shows whether errors are left`;
  }
  if (file === undefined) return 'softquota init --config /etc/softquota/app.ini';
  return `find out who may read it, or run doctor as root: ${commandLine('ls', '-l', file)}`;
}

const writeByAll = 0o002;
const readByAll = 0o004;
const readByGroup = 0o040;
const sticky = 0o1000;

export function checkConfigFiles(report: Report, loaded: config.LoadedConfig): void {
  const { file, server } = loaded.config;
  const { dataPath } = server;
  const exposed = (message: string, mend: string): void => report.found('exposed', message, mend);
  for (const path of file === null ? [] : [file, dirname(file)])
    if (isOpen(path)) exposed(`anybody can write ${printable(path)}`, commandLine('chmod', 'o-w', path));
  const askers = groupOfAskers(server);
  for (const path of secretFiles(loaded)) {
    const { mode = 0, gid } = statusOf(path) ?? {};
    const isForAskers = (mode & readByGroup) !== 0 && gid === askers;
    const readers =
      (mode & readByAll) !== 0 ? 'anybody' : isForAskers ? 'everybody who may ask the gate' : null;
    if (readers !== null)
      exposed(`${readers} can read the secret in ${printable(path)}`, hiding(path, server));
  }
  const key = join(dataPath, 'secret.key');
  if (((modeOf(key) ?? 0) & 0o077) !== 0) {
    const message = `other users than the daemon's can read ${printable(key)}`;
    exposed(message, commandLine('chmod', '0600', key));
  }
  if (isOpen(dataPath))
    exposed(`anybody can write into ${printable(dataPath)}`, commandLine('chmod', 'o-w', dataPath));
  report.checked.push(`the configuration${file === null ? '' : ` in ${printable(file)}`}`);
}

/** Returns true if everybody may write the file, or replace the entries of the directory. */
function isOpen(path: string): boolean {
  const mode = modeOf(path) ?? 0;
  return (mode & writeByAll) !== 0 && (mode & sticky) === 0;
}

/** The files with secret values. */
function secretFiles({ given }: config.LoadedConfig): ReadonlySet<string> {
  const secrets = given.filter(({ section, name, text }) => {
    const key = config.findKey(section, name);
    const value = text.trim();
    return key !== null && key.mask(value) !== value;
  });
  return new Set(secrets.flatMap(({ origin }) => (origin.file === null ? [] : [origin.file])));
}

type Server = config.Config['server'];

/** The group that may ask the gate, if others than the daemon and the worker are in it. */
function groupOfAskers({ socket, trustedSocket, dataPath }: Server): number | undefined {
  const gid = groupOfUsers(socket);
  if (gid === undefined || gid === groupOfUsers(trustedSocket)) return undefined;
  const daemon = statusOf(dataPath)?.uid;
  const isShared = accountsIn(new Set([gid])).some(({ uid }) => uid !== 0 && uid !== daemon);
  return isShared || gid !== statusOf(trustedSocket)?.gid ? gid : undefined;
}

/** The group that may use a socket: the worker is in that of the trusted socket. */
function groupOfUsers(socket: string): number | undefined {
  const { mode = 0, gid } = statusOf(socket) ?? {};
  return (mode & useByGroup) === 0 ? undefined : gid;
}

/** Hides a file from all but the daemon and the worker: those who ask the gate need no app.ini. */
function hiding(path: string, { trustedSocket, dataPath }: Server): string {
  // DATA_PATH belongs to the daemon's user.
  const uid = statusOf(dataPath)?.uid;
  // Without the socket nobody knows whether there is a worker, which must go on reading the file.
  if (uid === undefined || statusOf(trustedSocket) === null) return commandLine('chmod', 'o-rwx', path);
  const gid = groupOfUsers(trustedSocket);
  const group = gid === undefined ? '' : `:${groupName(gid)}`;
  const owner = `${userName(uid) ?? uid}${group}`;
  return `${commandLine('chown', owner, path)} && ${commandLine('chmod', group === '' ? '0600' : '0640', path)}`;
}

const useByGroup = 0o020;
const useByAll = 0o002;
const useByOthers = 0o022;

export function checkSockets(report: Report, installation: Installation): void {
  const { trustedSocket, adminSocket, trustedMode } = installation.loaded.config.server;
  checkPlaces(report, installation);
  const trusted = modeOf(trustedSocket);
  if (trusted !== null && (trusted & useByAll) !== 0 && isReached(trustedSocket)) {
    const mend =
      (trustedMode & useByAll) === 0
        ? commandLine('chmod', octal(trustedMode), trustedSocket)
        : setKey(installation, 'server', 'TRUSTED_MODE', octal(trustedMode & 0o660), 'restart');
    report.found('exposed', `anybody can use TRUSTED_SOCKET, ${told(trustedSocket, trusted)}`, mend);
  }
  const admin = modeOf(adminSocket);
  if (admin !== null && (admin & useByOthers) !== 0) {
    const message = `other users can use ADMIN_SOCKET, ${told(adminSocket, admin)}`;
    report.found('exposed', message, commandLine('chmod', '0600', adminSocket));
  }
  report.checked.push('the directories and permissions of the sockets');
}

/** Finds places for which the daemon refuses to make a socket. It does not check the service manager's. */
function checkPlaces(report: Report, installation: Installation): void {
  const { socket, trustedSocket, adminSocket, dataPath } = installation.loaded.config.server;
  // DATA_PATH belongs to the daemon's user.
  const daemon = statusOf(dataPath)?.uid;
  const paths = { SOCKET: socket, TRUSTED_SOCKET: trustedSocket, ADMIN_SOCKET: adminSocket };
  const known = new Set<string>();
  for (const [key, path] of Object.entries(paths)) {
    const exposure = exposureOf(path, daemon);
    if (exposure === null || known.has(exposure.words)) continue;
    const { words, directory, isSticky } = exposure;
    known.add(words);
    const mend = isSticky
      ? setKey(installation, 'server', key, `/run/softquota/${basename(path)}`, 'restart')
      : commandLine('chmod', 'o-w', directory);
    const message = `${printable(words)}, and so can replace the socket ${key}, ${printable(path)}`;
    report.found('exposed', message, mend);
  }
}

/** Returns true if everybody may pass through all directories above. */
function isReached(path: string): boolean {
  for (let at = dirname(path); at !== '/'; at = dirname(at)) {
    if (((modeOf(at) ?? 0) & 0o001) === 0) return false;
  }
  return true;
}

function told(path: string, mode: number): string {
  return `${printable(path)} (mode ${octal(mode)})`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/** Returns true if the daemon has reported its own findings. */
export async function checkDaemon(report: Report, installation: Installation): Promise<boolean> {
  const { admin, loaded } = installation;
  try {
    const running = versionReport.parse(await answerTo(admin, '/version')).version;
    const own = z.array(findingShape).parse(await answerTo(admin, '/admin/quota/findings'));
    const message = `the daemon has version ${printable(running)}, this command ${version}`;
    if (running !== version) report.found('restart_needed', message, restart(loaded.config.file));
    report.findings.push(...own.map(found => localized(installation, found)));
    report.checked.push(`the daemon, ${running}, and its own findings`);
    return true;
  } catch (error) {
    const what = `the daemon, at ${printable(loaded.config.server.adminSocket)}`;
    unanswered(report, installation, error, what, '; what only the daemon knows was not checked');
    return false;
  }
}

/** Checks that the gate answers on the socket that hooks use, and that its refusals are in force. */
export async function checkGate(report: Report, installation: Installation): Promise<void> {
  const { gate, loaded } = installation;
  const { server, quota } = loaded.config;
  const what = `the gate at ${printable(server.socket)}`;
  await gate('/healthz').then(
    () => report.checked.push(what),
    (error: unknown) => unanswered(report, installation, error, what),
  );
  if (!quota.enabled) {
    const mend = setKey(installation, 'quota', 'ENABLED', 'true', 'reload');
    report.found('not_enforced', 'quotas are switched off, so nothing is refused', mend);
  } else if (quota.mode === 'report') {
    const mend = `when the figures are as expected: ${setKey(installation, 'quota', 'MODE', 'enforce', 'reload')}`;
    report.found('not_enforced', 'report mode: refusals are only recorded, and nothing is refused', mend);
  }
}

/** Reports that a socket gave no answer: no daemon is there, or this user has no permission. */
function unanswered(report: Report, { loaded }: Installation, error: unknown, what: string, more = ''): void {
  if (!(error instanceof SoftquotaError)) throw error;
  if (error.code === 'not_permitted') report.missed.push(what);
  else report.found('daemon_away', `${printable(error.message)}${more}`, startCommand(loaded.config.file));
}

async function answerTo(ask: Ask, path: string): Promise<unknown> {
  const { status, json } = await ask(path);
  if (status === 200) return json;
  throw new SoftquotaError('unreachable', `the daemon answers with status ${status}`);
}

const leastBytes = 64 * 1024 * 1024;
const leastFiles = 1000;

export function checkSpace(report: Report, { loaded }: Installation): void {
  const { dataPath } = loaded.config.server;
  const place = `DATA_PATH, ${printable(dataPath)}`;
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dataPath);
    const free = `${formatBytes(bavail * bsize)} free`;
    // Some file systems make inodes as they need them, and report none.
    if (files > 0 && ffree < leastFiles) {
      const mend = `remove small files on that disk: ${commandLine('df', '-i', dataPath)} shows the inodes`;
      report.found('disk_full', `${place}, has ${ffree} inodes left`, mend);
    } else if (bavail * bsize < leastBytes) {
      const mend = `free space on that disk: ${commandLine('df', '-h', dataPath)} shows the space`;
      report.found('disk_full', `${place}, has ${free}`, mend);
    } else report.checked.push(`${place}: ${free}`);
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    // The daemon makes the directory, or says why it cannot, and does not start.
    if (code !== 'ENOENT') report.missed.push(`${place} (${code})`);
  }
}
