/**
 * The daemon: whether it and its gate answer, its version, what it finds wrong itself, and whether it
 * refuses.
 */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import { version } from '../version.ts';
import { type Finding, finding as findingShape, versionReport } from '../wire/index.ts';
import { type CheckResult, together } from './check-result.ts';
import type { HostContext, Installation } from './installation.ts';
import { localized, restart, setKey, start } from './mend.ts';

interface DaemonCheck extends CheckResult {
  /** Tells whether it told what it finds itself. */
  readonly heard: boolean;
}

export async function checkDaemon({ admin, loaded, context }: Installation): Promise<DaemonCheck> {
  try {
    const { json } = succeeded(await admin('/version'));
    const running = versionReport.parse(json).version;
    const { json: told } = succeeded(await admin('/admin/quota/findings'));
    const own = z.array(findingShape).parse(told);
    return {
      heard: true,
      findings: [...versions(running), ...own.map(found => localized(context, found))],
      checked: [`the daemon, ${running}, and its own findings`],
    };
  } catch (error) {
    const what = `the daemon, at ${printable(loaded.config.server.adminSocket)}`;
    const more = '; what only the daemon knows was not checked';
    return { heard: false, ...unanswered(context, error, what, more) };
  }
}

/** The gate: whether anybody answers where hooks are to ask, and whether refusals are refusals. */
export async function checkGate(installation: Installation): Promise<CheckResult> {
  const { gate, loaded, context } = installation;
  const what = `the gate at ${printable(loaded.config.server.socket)}`;
  const answer = await gate('/healthz').then(
    (): CheckResult => ({ findings: [], checked: [what] }),
    (error: unknown) => unanswered(context, error, what),
  );
  return together([answer, { findings: modes(installation) }]);
}

/** The result where a socket gave no answer: nobody is there, or this user may not ask. */
function unanswered(context: HostContext, error: unknown, what: string, more = ''): CheckResult {
  if (!(error instanceof SoftquotaError)) throw error;
  if (error.code === 'not_permitted') return { findings: [], missed: [what] };
  return { findings: [makeFinding('daemon_away', `${printable(error.message)}${more}`, start(context))] };
}

function succeeded<Answer extends { readonly status: number }>(answer: Answer): Answer {
  if (answer.status === 200) return answer;
  throw new SoftquotaError('unreachable', `the daemon answers with status ${answer.status}`);
}

function versions(running: string): Finding[] {
  if (running === version) return [];
  const message = `the daemon has version ${printable(running)}, this command ${version}`;
  return [makeFinding('version', message, restart())];
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
