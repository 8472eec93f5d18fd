/** Deciding what the policy is where the one in the store is not the one in force. */

import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { newGeneration, type SharedPolicy, type SharedStore } from '../store/index.ts';
import type { DocumentFollower } from './document-follower.ts';

interface RepairParts {
  readonly replica: Ledger['replica'];
  readonly store: Pick<SharedStore, 'policy' | 'replace'>;
  readonly documents: Pick<DocumentFollower, 'divergence' | 'divergedPosition'>;
  /** Resolves once what others changed by now is in force here. */
  sync(): Promise<void>;
  readonly log: Pick<Log, 'info'>;
}

/** Does the work of `Fleet.repair`. */
export async function repair(policy: 'known' | 'stored', parts: RepairParts): Promise<void> {
  const { replica, store, documents, sync, log } = parts;
  await sync();
  if (documents.divergence === null) {
    throw new SoftquotaError('conflict', 'the policy in the store is the policy in force: nothing to repair');
  }
  const { divergedPosition } = documents;
  const stored = await store.policy();
  const { position, supersedes } = stored.state;
  // The policy that the administrator saw must still be the stored one.
  if (!isDeepStrictEqual(position, divergedPosition)) throw changedMeanwhile();
  if (policy === 'stored' && position === null) throw changedMeanwhile();
  const chosen: SharedPolicy = policy === 'known' ? await replica.policy() : stored.policy;
  const given = [replica.position?.generation, position?.generation, ...supersedes];
  const next = newGeneration(Math.max(replica.position?.version ?? 0, position?.version ?? 0) + 1);
  const supersededNow = [...new Set(given.flatMap(each => each ?? []))];
  const outcome = await store.replace(chosen, position, [next], supersededNow);
  if (outcome === 'conflict') throw changedMeanwhile();
  await replica.applyWhole(chosen, [next]);
  log.info({ policy, version: next.version }, 'the policy of the shared store was repaired');
  await sync();
}

function changedMeanwhile(): SoftquotaError {
  return new SoftquotaError('conflict', 'the store has changed meanwhile: check it again');
}
