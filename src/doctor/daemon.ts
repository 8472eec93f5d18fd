/** The daemon: whether it answers, its version, and what it finds wrong itself. */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Finding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import { version } from '../version.ts';
import { finding as findingShape, versionReport } from '../wire/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';
import type { Installation } from './installation.ts';
import { localized, restart, start } from './mend.ts';

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
    if (!(error instanceof SoftquotaError)) throw error;
    if (error.code === 'not_permitted') {
      return {
        heard: false,
        findings: [],
        missed: [`the daemon, at ${printable(loaded.config.server.adminSocket)}`],
      };
    }
    const message = `${printable(error.message)}; what only the daemon knows was not checked`;
    return { heard: false, findings: [findingOf('daemon_away', message, start(context))] };
  }
}

function succeeded<Answer extends { readonly status: number }>(answer: Answer): Answer {
  if (answer.status === 200) return answer;
  throw new SoftquotaError('unreachable', `the daemon answers with status ${answer.status}`);
}

function versions(running: string): Finding[] {
  if (running === version) return [];
  return [
    findingOf('version', `the daemon has version ${printable(running)}, this command ${version}`, restart()),
  ];
}
