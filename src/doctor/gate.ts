/** The gate: whether anybody answers where hooks are to ask, and whether refusals are refusals. */

import { SoftquotaError } from '../errors.ts';
import type { Finding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';
import type { Installation } from './installation.ts';
import { setKey, start } from './mend.ts';

export async function checkGate(installation: Installation): Promise<CheckResult> {
  const { gate, loaded, context } = installation;
  const { socket } = loaded.config.server;
  try {
    await gate('/healthz');
    return { findings: modes(installation), checked: [`the gate at ${printable(socket)}`] };
  } catch (error) {
    if (!(error instanceof SoftquotaError)) throw error;
    if (error.code === 'not_permitted') {
      return { findings: modes(installation), missed: [`the gate at ${printable(socket)}`] };
    }
    return {
      findings: [findingOf('gate_away', printable(error.message), start(context)), ...modes(installation)],
    };
  }
}

function modes(installation: Installation): Finding[] {
  const { enabled, mode } = installation.loaded.config.quota;
  if (!enabled) {
    const mend = setKey(installation, 'quota', 'ENABLED', 'true', 'reload');
    return [findingOf('disabled', 'quotas are switched off, so nothing is refused', mend)];
  }
  if (mode === 'report') {
    const mend = `when the figures are as expected: ${setKey(installation, 'quota', 'MODE', 'enforce', 'reload')}`;
    return [findingOf('report', 'report mode: refusals are only recorded, and nothing is refused', mend)];
  }
  return [];
}
