/** Converts the API's usage by kind to bytes by leaf. */

import { type Leaf, leaves, type Usage } from '../../src/quota/index.ts';
import type { OwnerRow } from '../../src/wire/index.ts';

/** Returns bytes in the order of `leaves`. */
export function usageIn({ size: { repos, git, assets } }: OwnerRow['tree']): Usage {
  const bytes: Readonly<Record<Leaf, number>> = {
    'size:repos:public': repos.public,
    'size:repos:private': repos.private,
    'size:git:lfs': git.LFS,
    'size:assets:attachments:issues': assets.attachments.issues,
    'size:assets:attachments:releases': assets.attachments.releases,
    'size:assets:artifacts': assets.artifacts,
    'size:assets:packages:all': assets.packages.all,
    'size:assets:wiki': assets.wiki,
  };
  return leaves.map(leaf => bytes[leaf]);
}

/** Returns the kinds with data, in the order of `leaves`. */
export function portions(usage: Usage): readonly { readonly leaf: Leaf; readonly bytes: number }[] {
  return leaves.flatMap((leaf, index) => {
    const bytes = usage[index] ?? 0;
    return bytes > 0 ? [{ leaf, bytes }] : [];
  });
}
