/** Checks the daemon: its answers, version and own findings, its gate, and the free space for its data. */

import { statfsSync } from 'node:fs';
import { z } from 'zod';
import { SoftquotaError, systemCode } from '../errors.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { formatBytes, printable } from '../text.ts';
import { version } from '../version.ts';
import { type Finding, finding as findingShape, versionReport } from '../wire/index.ts';
import {
  type CheckResult,
  type HostContext,
  type Installation,
  localized,
  restart,
  setKey,
  start,
  together,
} from './installation.ts';

/** `heard`: the daemon has reported its own findings. */
export async function checkDaemon({
  admin,
  loaded,
  context,
}: Installation): Promise<CheckResult & { readonly heard: boolean }> {
  try {
    const { json } = succeeded(await admin('/version'));
    const running = versionReport.parse(json).version;
    const message = `the daemon has version ${printable(running)}, this command ${version}`;
    const outdated = running === version ? [] : [makeFinding('restart_needed', message, restart())];
    const { json: told } = succeeded(await admin('/admin/quota/findings'));
    const own = z.array(findingShape).parse(told);
    return {
      heard: true,
      findings: [...outdated, ...own.map(found => localized(context, found))],
      checked: [`the daemon, ${running}, and its own findings`],
    };
  } catch (error) {
    const what = `the daemon, at ${printable(loaded.config.server.adminSocket)}`;
    const more = '; what only the daemon knows was not checked';
    return { heard: false, ...unanswered(context, error, what, more) };
  }
}

/** Checks that the gate answers on the socket that hooks use, and that its refusals are in force. */
export async function checkGate(installation: Installation): Promise<CheckResult> {
  const { gate, loaded, context } = installation;
  const what = `the gate at ${printable(loaded.config.server.socket)}`;
  const answer = await gate('/healthz').then(
    (): CheckResult => ({ findings: [], checked: [what] }),
    (error: unknown) => unanswered(context, error, what),
  );
  return together([answer, { findings: modes(installation) }]);
}

/** The result if a socket gave no answer: no daemon is there, or this user has no permission. */
function unanswered(context: HostContext, error: unknown, what: string, more = ''): CheckResult {
  if (!(error instanceof SoftquotaError)) throw error;
  if (error.code === 'not_permitted') return { findings: [], missed: [what] };
  return {
    findings: [makeFinding('daemon_away', `${printable(error.message)}${more}`, start(context))],
  };
}

function succeeded<Answer extends { readonly status: number }>(answer: Answer): Answer {
  if (answer.status === 200) return answer;
  throw new SoftquotaError('unreachable', `the daemon answers with status ${answer.status}`);
}

function modes(installation: Installation): Finding[] {
  const { enabled, mode } = installation.loaded.config.quota;
  if (!enabled) {
    const mend = setKey(installation, 'quota', 'ENABLED', 'true', 'reload');
    return [makeFinding('not_enforced', 'quotas are switched off, so nothing is refused', mend)];
  }
  if (mode === 'report') {
    const mend = `when the figures are as expected: ${setKey(installation, 'quota', 'MODE', 'enforce', 'reload')}`;
    const message = 'report mode: refusals are only recorded, and nothing is refused';
    return [makeFinding('not_enforced', message, mend)];
  }
  return [];
}

const leastBytes = 64 * 1024 * 1024;
const leastFiles = 1000;

export function checkSpace({ loaded }: Installation): CheckResult {
  const { dataPath } = loaded.config.server;
  const shown = printable(dataPath);
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dataPath);
    const free = `${formatBytes(bavail * bsize)} free`;
    const full = (what: string, mend: string) => ({
      findings: [makeFinding('disk_full', `DATA_PATH, ${shown}, has ${what}`, mend)],
    });
    // Some file systems make inodes as they need them, and report none.
    if (files > 0 && ffree < leastFiles) {
      const inodes = commandLine('df', '-i', dataPath);
      return full(`${ffree} inodes left`, `remove small files on that disk: ${inodes} shows the inodes`);
    }
    if (bavail * bsize < leastBytes)
      return full(free, `free space on that disk: ${commandLine('df', '-h', dataPath)} shows the space`);
    return { findings: [], checked: [`DATA_PATH, ${shown}: ${free}`] };
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    // The daemon makes the directory, or says why it cannot, and does not start.
    if (code === 'ENOENT') return { findings: [] };
    return { findings: [], missed: [`DATA_PATH, ${shown} (${code})`] };
  }
}
