/** Storage that several hosts mount: which of them walk it, by what they tell of their storage. */

import { isWithin } from '../layout/index.ts';
import type { HostRecord } from '../store/index.ts';

/** The hosts that walk a directory, or one in which it lies. */
export function walkersOf(source: string, hosts: readonly HostRecord[]): readonly HostRecord[] {
  return hosts.filter(({ roots }) => roots?.some(root => root.isWalked && isWithin(source, root.source)));
}

/** The directories that a host walks, and that others mount as well. */
export function walkedForOthers(one: HostRecord, hosts: readonly HostRecord[]): string[] {
  const others = hosts.filter(({ host }) => host !== one.host).flatMap(({ roots }) => roots ?? []);
  return (one.roots ?? [])
    .filter(({ isWalked }) => isWalked)
    .map(({ source }) => source)
    .filter(source => others.some(other => !other.isWalked && isWithin(other.source, source)))
    .sort();
}
