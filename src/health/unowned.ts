/** Describes bytes that belong to nobody, and how they can be deleted safely. */

import { type ForgeKind, type Unowned, unownedReasons } from '../forge/index.ts';
import type { UnownedKind } from '../wire/index.ts';
import type { ObservedForge } from './observed.ts';

/** `reason`: the reason why the forge's database names no owner. */
function wordsOf(kind: ForgeKind, reason: Unowned['reason']): Pick<UnownedKind, 'what' | 'mend'> {
  const what = unownedReasons[reason];
  const page = kind === 'gitlab' || kind === 'gogs' ? kind : 'gitea';
  const seeDocs = `see "What belongs to nobody" in docs/forges/${page}.md`;
  switch (`${page} ${reason}`) {
    case 'gitlab lfs_orphaned':
      return { what, mend: 'nothing: GitLab removes those that no project refers to every night' };
    case 'gitlab artifacts_orphaned':
      return { what, mend: 'nothing: GitLab removes their rows some time after the project' };
    case 'gitlab packages_orphaned':
      return { what: 'files of packages that no longer exist', mend: seeDocs };
    case 'gitea lfs_orphaned':
      return { what, mend: `${kind === 'forgejo' ? kind : 'gitea'} doctor check --run gc-lfs --fix` };
    case 'gitea packages_orphaned':
      return { what, mend: 'nothing: the forge removes them after a day' };
    case 'gitea odd_rows':
    case 'gogs odd_rows':
    case 'gitlab odd_rows':
      return { what, mend: 'softquota doctor names the rows (forge_row_odd); correct or delete them' };
    default:
      return { what, mend: seeDocs };
  }
}

/** Data without an owner in the forge's database, and directories of this host without a known owner. */
export function unownedKinds(
  forge: Pick<ObservedForge, 'kind' | 'unowned'> | null,
  directories: { readonly count: number; readonly bytes: number },
): readonly UnownedKind[] {
  const told = forge?.unowned.map(({ reason, ...sum }) => ({
    kind: reason,
    ...sum,
    ...wordsOf(forge.kind, reason),
  }));
  const mend =
    forge?.kind === 'gitlab'
      ? 'ask gitlab-rails console with ProjectRepository.find_project before anything is deleted; see docs/forges/gitlab.md'
      : 'softquota doctor names some; correct [storage.*] OWNER, or remove what is not needed';
  const without = {
    kind: 'directories_without_owner',
    ...directories,
    what: 'directories without a known owner',
    mend,
  };
  return [...(told ?? []), ...(directories.count === 0 ? [] : [without])];
}
