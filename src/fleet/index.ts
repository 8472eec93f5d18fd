/**
 * Hosts with one quota: each measures its own disks and decides from its own memory; they share the policy
 * and the usage on every host in a store.
 *
 * While that store does not answer, each host continues with the known data. If the policy in the store has
 * diverged from the known one, it is never applied without an administrator's decision.
 */

export { Fleet, type FleetOptions } from './fleet.ts';
export { type NameTaken, walkedForOthers, walkersOf } from './hosts.ts';
export type { FleetState } from './state.ts';
