/** A forge's database: how often it is read, and what becomes of its figures. */

import type { Config } from '../config/index.ts';
import { forgeSource, type Ledger } from '../ledger/index.ts';
import { type Patterns, verifyPattern } from '../scan/index.ts';
import type { Logger } from '../service/index.ts';

/** All is read as often as all is measured. */
export function patternsOf({ schedule }: Config['scan']): Patterns {
  return { sweep: schedule, verify: verifyPattern };
}

/** The figures of a forge that is not read any more count no longer. */
export async function forgetForge(ledger: Ledger, log: Logger): Promise<void> {
  if (ledger.sources.report(forgeSource) === undefined) return;
  await ledger.sources.remove(forgeSource);
  log.info('app.ini names no forge any more: its figures no longer count');
}
