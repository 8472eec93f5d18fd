/** Findings about the reading of a forge's database. */

import { formatBytes, formatCount, printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { DaemonFindingCode } from './catalog.ts';
import { makeFinding } from './make-finding.ts';
import { forgeAway, type Observed, type ObservedForge } from './observed.ts';

/** The findings of faults of the forge reader. */
export const forgeFindingCodes = {
  configuration: 'forge_configuration',
  unreachable: 'forge_unreachable',
  rights: 'forge_rights',
  schema: 'forge_schema',
} as const satisfies Readonly<Record<NonNullable<ObservedForge['fault']>['code'], DaemonFindingCode>>;

/** A reading that takes longer is told of. */
const longReadingMs = 300_000;
const mostNamed = 20;

const unownedTexts: Readonly<Record<string, { readonly what: string; readonly mend: string }>> = {
  lfs_orphaned: {
    what: 'LFS objects of repositories that no longer exist',
    mend: 'gitea doctor check --run gc-lfs --fix',
  },
  attachments_orphaned: {
    what: 'attachments of repositories that no longer exist, or of none',
    mend: 'see "What belongs to nobody" in docs/forges',
  },
  artifacts_orphaned: {
    what: 'artifacts of repositories that no longer exist',
    mend: 'see "What belongs to nobody" in docs/forges',
  },
  packages_orphaned: {
    what: 'blobs of packages that no file refers to',
    mend: 'nothing: the forge removes them after a day',
  },
  owner_missing: {
    what: 'data of owners whom the database does not have',
    mend: 'see "What belongs to nobody" in docs/forges',
  },
};

export function forgeFindings({ forge, now }: Pick<Observed, 'forge' | 'now'>): readonly Finding[] {
  if (forge === null) return [];
  const { fault, readingSince, unowned, refused, absent } = forge;
  return [
    ...(fault === null ? [] : [makeFinding(forgeFindingCodes[fault.code], forgeAway(fault), fault.mend)]),
    ...(readingSince === null || now - readingSince < longReadingMs
      ? []
      : [
          makeFinding(
            'forge_slow',
            `the reading of the forge's database has taken ${Math.round((now - readingSince) / 60_000)} minutes`,
            'find out what its database is busy with; the last known figures are used meanwhile',
          ),
        ]),
    ...refused
      .slice(0, mostNamed)
      .map(({ name, why }) =>
        makeFinding(
          'forge_owner_refused',
          `${printable(name)} of the forge cannot be taken over: ${printable(why)}`,
          'rename or delete the owner of softquota who is in the way',
        ),
      ),
    ...(absent === 0
      ? []
      : [
          makeFinding(
            'forge_owners_absent',
            `${formatCount(absent)} owners at once are not in the forge's database any more, so none of them is deleted`,
            'correct [forge] if it is another database; else delete them: softquota user delete NAME',
          ),
        ]),
    ...unowned.map(({ reason, count, bytes }) => {
      const { what = reason, mend = '' } = unownedTexts[reason] ?? {};
      return makeFinding(
        'forge_unowned',
        `${formatBytes(bytes)} in the forge belong to nobody: ${formatCount(count)} ${what}`,
        mend,
      );
    }),
  ];
}
