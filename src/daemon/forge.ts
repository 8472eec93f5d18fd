/** The reader of a forge's database, where the configuration names one. */

import type { Config } from '../config/index.ts';
import { forgeSource, type Ledger } from '../ledger/index.ts';
import { ForgeSync } from '../measuring/index.ts';
import { type Patterns, startSchedule, verifyPattern } from '../scan/index.ts';
import type { Logger } from '../service/index.ts';

/** Null: none is named. Repositories at the paths that `mayHave` takes have become public or private. */
export function openForge(
  { forge, scan }: Config,
  ledger: Ledger,
  log: Logger,
  visibilityChanged: (mayHave: (path: string) => boolean) => void,
): ForgeSync | null {
  if (forge === null) return null;
  return new ForgeSync({
    settings: forge,
    ledger,
    log,
    patterns: patternsOf(scan),
    schedule: startSchedule,
    visibilityChanged,
  });
}

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
