/** Finds possible mistakes in the policy in force. */

import { lintIn, readInForce } from '../policy/index.ts';
import type { LintFinding } from '../quota/index.ts';
import type { Ledger } from './ledger.ts';
import { renamedOwners } from './renamed-owners.ts';

export async function policyFaults(ledger: Ledger): Promise<readonly LintFinding[]> {
  const faults = await readInForce(ledger, policy => lintIn(policy, ledger.settings));
  return [...faults, ...renamedOwners(ledger)];
}
