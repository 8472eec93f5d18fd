/** What the API is made of. */

import type { Backup } from '../backup/index.ts';
import type { Events } from '../events/index.ts';
import type { Identity } from '../identity/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Scanner } from '../scan/index.ts';
import type { Finding } from '../wire/index.ts';
import type { FaultServices } from './faults.ts';

export interface ApiServices extends FaultServices {
  readonly ledger: Ledger;
  readonly scanner: Scanner;
  readonly identity: Identity;
  readonly events: Pick<Events, 'list'>;
  /** `[users] AUTO_CREATE`. */
  readonly autoCreate: boolean;
  /** What is wrong with this installation, as far as the daemon knows. */
  findings(): Promise<readonly Finding[]>;
  /** All that no walk would find again. */
  backup(): Promise<Backup>;
}
