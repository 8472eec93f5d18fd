/** Tells the hooks whether sizes count. */

import { messageOf } from '../errors.ts';
import { publishSizes, sizesFile } from '../gate/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Logger } from '../service/index.ts';

/** Call it whenever the settings may have changed. A fault is logged: the daemon answers all the same. */
export function tellHooks(socket: string, { admissions }: Ledger, log: Logger): void {
  try {
    publishSizes(socket, admissions.isTracking);
  } catch (error) {
    const about = { file: sizesFile(socket), reason: messageOf(error) };
    log.error(about, 'the hooks cannot be told whether sizes count: those of pushes may not');
  }
}
