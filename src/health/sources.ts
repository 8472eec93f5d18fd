/**
 * Findings about sources: the forge's database, and programs that report units. Describes bytes that belong
 * to nobody, and how they can be deleted safely.
 */

import { type ForgeKind, type Unowned, unownedReasons } from '../forge/index.ts';
import { forgeSource } from '../ledger/index.ts';
import { formatBytes, formatCount, printable } from '../text.ts';
import type { Finding, Overview } from '../wire/index.ts';
import { commandLine, listed, makeFinding } from './catalog.ts';
import { forgeAway, type Observed, type ObservedForge } from './observed.ts';

export function* sourceFindings({ forge, ledger, trustedSocket }: Observed): Generator<Finding> {
  for (const { name, reportedAt, staleAfterMs, isStale } of ledger.sources.list) {
    // The fault of the forge has a finding of its own.
    if (!isStale || (name === forgeSource && (forge?.fault ?? null) !== null)) continue;
    const address = `http://localhost/v1/sources/${encodeURIComponent(name)}`;
    const removing = commandLine('curl', '-q', '--unix-socket', trustedSocket, '-X', 'DELETE', address);
    const message =
      `the source ${printable(name)} last reported at ${new Date(reportedAt).toISOString()}, but should report ` +
      `every ${staleAfterMs / 1000} s: its figures are stale`;
    const mend =
      name === forgeSource
        ? 'systemctl restart softquota; if that does not help, its log says what the reader of [forge] waits for'
        : `start the reporting program again; if it no longer exists: ${removing}`;
    yield makeFinding('source_stale', message, mend);
  }
}

/** Used for forges other than GitLab, where each directory without an owner has a finding of its own. */
const noDirectories = { count: 0, bytes: 0 };

export function* forgeFindings({ forge, ledger }: Observed): Generator<Finding> {
  if (forge === null) return;
  const { fault, refused, absent, odd } = forge;
  const code = fault?.code === 'gone' ? 'forge_rows_gone' : 'forge_away';
  if (fault !== null) yield makeFinding(code, forgeAway(fault), fault.mend);
  yield* listed({ first: refused, count: refused.length }, ({ name, why }) => {
    const message = `${printable(name)} of the forge cannot be taken over: ${printable(why)}`;
    const mend = 'rename or delete the owner of softquota who is in the way';
    return makeFinding('forge_owner_refused', message, mend);
  });
  yield* listed(odd, ({ row, why, owner, path, isCounted }) => {
    const place = [row, owner ?? 'of an owner who is not known', ...(path === null ? [] : [path])].join(', ');
    const effect = isCounted
      ? 'its last good figure goes on counting'
      : 'what it stands for counts for nobody';
    const message = printable(`${place}: ${why}, so ${effect}`);
    return makeFinding('forge_row_odd', message, "correct or delete the row in the forge's database");
  });
  if (absent > 0) {
    const message = `${formatCount(absent)} owners at once are not in the forge's database any more, so none of them is deleted`;
    const mend = `correct [forge] if it is another database; else delete those who store nothing: softquota scan --accept-moved`;
    yield makeFinding('forge_owners_absent', message, mend);
  }
  const kinds = unownedKinds(forge, forge.kind === 'gitlab' ? ledger.units.unowned : noDirectories);
  for (const { what, count, bytes, mend } of kinds) {
    const message = `${formatBytes(bytes)} in the forge belong to nobody: ${formatCount(count)} ${what}`;
    yield makeFinding('forge_unowned', message, mend);
  }
}

type UnownedKind = Overview['nobody']['kinds'][number];

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
