/**
 * Hosts with one quota: each measures its own disks and decides from its own memory; policy, and what
 * every host says that owners store on it, they keep together in a shared store.
 *
 * While that store is away each goes on with what it knows. A policy in the store that is not the one known
 * here, or what followed from it, is never taken over without somebody's decision.
 */

export type { Divergence } from './divergence.ts';
export { Fleet, type FleetOptions, type FleetState } from './fleet.ts';
export type { NameTaken } from './name.ts';
export { type Mounted, Walkers } from './walkers.ts';
