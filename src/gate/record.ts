/** The record of decisions. */

import type { GateServices, RefusalRecord } from './services.ts';

/** Counts a decision, and puts a refusal on record. `unitPath`: the repository of a push. */
export function recordDecision(
  { ledger, metrics, refused }: Pick<GateServices, 'ledger' | 'metrics' | 'refused'>,
  told: Omit<RefusalRecord, 'mode'>,
  unitPath?: string,
): void {
  const { mode } = ledger.settings;
  const { allowed } = told.decision;
  const result = mode === 'report' ? 'would_refuse' : 'refused';
  metrics?.decided(allowed ? 'allowed' : result, told.subject, ledger.settings);
  if (!allowed) refused({ ...told, mode }, unitPath);
}
