/** The record of decisions. */

import type { GateServices, RefusalRecord } from './services.ts';

/**
 * Counts a decision, and puts a refusal on record, also one by rules in report mode, which is let
 * through. `unitPath`: the repository of a push.
 */
export function recordDecision(
  { ledger, metrics, refused }: Pick<GateServices, 'ledger' | 'metrics' | 'refused'>,
  told: Omit<RefusalRecord, 'mode'>,
  unitPath?: string,
): void {
  const { mode } = ledger.settings;
  const { allowed, reported } = told.decision;
  if (reported !== undefined && !reported.allowed) {
    metrics?.decided('would_refuse', told.subject, { ...ledger.settings, mode: 'report' });
    refused({ ...told, decision: reported, mode: 'report' }, unitPath);
    return;
  }
  const result = mode === 'report' ? 'would_refuse' : 'refused';
  metrics?.decided(allowed ? 'allowed' : result, told.subject, ledger.settings);
  if (!allowed) refused({ ...told, mode }, unitPath);
}
