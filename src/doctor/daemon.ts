/** Checks the daemon: its answers, version and own findings, its gate, and the free space for its data. */

import { statfsSync } from 'node:fs';
import { z } from 'zod';
import { SoftquotaError, systemCode } from '../errors.ts';
import { commandLine } from '../health/index.ts';
import { formatBytes, printable } from '../text.ts';
import { version } from '../version.ts';
import { finding as findingShape, versionReport } from '../wire/index.ts';
import {
  type Ask,
  type HostContext,
  type Installation,
  localized,
  type Report,
  restart,
  setKey,
  start,
} from './installation.ts';

/** Returns true if the daemon has reported its own findings. */
export async function checkDaemon(
  report: Report,
  { admin, loaded, context }: Installation,
): Promise<boolean> {
  try {
    const running = versionReport.parse(await answerTo(admin, '/version')).version;
    const own = z.array(findingShape).parse(await answerTo(admin, '/admin/quota/findings'));
    const message = `the daemon has version ${printable(running)}, this command ${version}`;
    if (running !== version) report.found('restart_needed', message, restart());
    report.findings.push(...own.map(found => localized(context, found)));
    report.checked.push(`the daemon, ${running}, and its own findings`);
    return true;
  } catch (error) {
    const what = `the daemon, at ${printable(loaded.config.server.adminSocket)}`;
    unanswered(report, context, error, what, '; what only the daemon knows was not checked');
    return false;
  }
}

/** Checks that the gate answers on the socket that hooks use, and that its refusals are in force. */
export async function checkGate(report: Report, installation: Installation): Promise<void> {
  const { gate, loaded, context } = installation;
  const { server, quota } = loaded.config;
  const what = `the gate at ${printable(server.socket)}`;
  await gate('/healthz').then(
    () => report.checked.push(what),
    (error: unknown) => unanswered(report, context, error, what),
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
function unanswered(report: Report, context: HostContext, error: unknown, what: string, more = ''): void {
  if (!(error instanceof SoftquotaError)) throw error;
  if (error.code === 'not_permitted') report.missed.push(what);
  else report.found('daemon_away', `${printable(error.message)}${more}`, start(context));
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
