/**
 * Tests for any shared store, beyond those for every record store.
 *
 * See record-store-contract.ts for places; of these, several stores may be open at a time.
 */

import type { Test } from 'tap';
import { sharedDocumentsContract } from './shared-documents-contract.ts';
import { sharedHostsContract } from './shared-hosts-contract.ts';
import type { SharedPlace } from './shared-place.ts';
import { sharedWorkContract } from './shared-work-contract.ts';

export function sharedContract(t: Test, newPlace: () => SharedPlace): void {
  sharedDocumentsContract(t, newPlace);
  sharedHostsContract(t, newPlace);
  sharedWorkContract(t, newPlace);
}
