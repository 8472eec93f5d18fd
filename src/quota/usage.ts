/**
 * The usage of an owner: bytes per leaf, in the order of `leaves`.
 *
 * Sizes are whole numbers of bytes up to 2^53 - 1. A larger sum is an error, never a rounded number.
 */

import { SoftquotaError } from '../errors.ts';
import { type Leaf, leafIndex, leaves } from './subjects.ts';

export type Usage = readonly number[];

export const noUsage: Usage = Object.freeze(leaves.map(() => 0));

/** Usage from bytes by leaf; leaves that are not named hold nothing. */
export function usageOf(bytes: Readonly<Partial<Record<Leaf, number>>>): Usage {
  return leaves.map(leaf => bytes[leaf] ?? 0);
}

/** `a + b`; throws `sum_too_large` where the sum is not exact. */
export function addBytes(a: number, b: number): number {
  const sum = a + b;
  if (!Number.isSafeInteger(sum)) {
    throw new SoftquotaError('sum_too_large', `${a} and ${b} bytes together pass 2^53 - 1 bytes`);
  }
  return sum;
}

/** The bytes of the leaves in `mask`, each counted once; throws `sum_too_large`. */
export function bytesUnder(usage: Usage, mask: number): number {
  let sum = 0;
  for (let index = 0; index < usage.length; index++) {
    if ((mask & (1 << index)) !== 0) sum += usage[index] ?? 0;
  }
  if (sum > Number.MAX_SAFE_INTEGER) {
    throw new SoftquotaError('sum_too_large', 'the bytes of these subjects together pass 2^53 - 1');
  }
  return sum;
}

/** Usage as Forgejo's clients read it, and with wikis besides. Bytes everywhere. */
interface UsageTree {
  readonly size: {
    readonly repos: { readonly public: number; readonly private: number };
    readonly git: { readonly LFS: number };
    readonly assets: {
      readonly attachments: { readonly issues: number; readonly releases: number };
      readonly artifacts: number;
      readonly packages: { readonly all: number };
      readonly wiki: number;
    };
  };
}

export function asTree(usage: Usage): UsageTree {
  const bytes = (leaf: Leaf) => usage[leafIndex(leaf)] ?? 0;
  return {
    size: {
      repos: { public: bytes('size:repos:public'), private: bytes('size:repos:private') },
      git: { LFS: bytes('size:git:lfs') },
      assets: {
        attachments: {
          issues: bytes('size:assets:attachments:issues'),
          releases: bytes('size:assets:attachments:releases'),
        },
        artifacts: bytes('size:assets:artifacts'),
        packages: { all: bytes('size:assets:packages:all') },
        wiki: bytes('size:assets:wiki'),
      },
    },
  };
}
