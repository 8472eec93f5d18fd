/** Questions of the commands about the policy as a whole. */

import type { NewWholePolicy, ReplacedPolicy, Simulation, WholePolicy } from '../wire/index.ts';
import type { DaemonClient } from './client.ts';

const path = '/admin/quota/policy';
const mostOwners = 20;

export async function policyInForce(client: DaemonClient): Promise<WholePolicy> {
  return await client.get<WholePolicy>({ path });
}

export async function sendPolicy(
  client: DaemonClient,
  body: NewWholePolicy,
  { dryRun, createUsers }: { readonly dryRun: boolean; readonly createUsers: boolean },
): Promise<ReplacedPolicy> {
  // Left out, the daemon's own setting counts.
  const creating = createUsers ? '&create_users=true' : '';
  const call = { method: 'PUT', path: `${path}?dry_run=${dryRun}${creating}`, body } as const;
  return await client.get<ReplacedPolicy>(call);
}

/** Names some of those who would be refused or allowed something. */
export async function simulatedPolicy(
  client: DaemonClient,
  body: Readonly<Record<string, unknown>>,
): Promise<Simulation> {
  const call = { method: 'POST', path: `/admin/quota/simulate?limit=${mostOwners}`, body } as const;
  return await client.get<Simulation>(call);
}
