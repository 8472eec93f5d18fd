/** Findings about the reading of a forge's database. */

import { formatBytes, formatCount, printable } from '../text/index.ts';
import type { DaemonFindingCode } from './catalog.ts';
import { type Finding, makeFinding } from './make-finding.ts';
import { forgeAway, type Observed, type ObservedForge } from './observed.ts';
import { unownedKinds } from './unowned.ts';

/** The findings of faults of the forge reader. */
export const forgeFindingCodes = {
  configuration: 'forge_configuration',
  unreachable: 'forge_unreachable',
  rights: 'forge_rights',
  schema: 'forge_schema',
} as const satisfies Readonly<Record<NonNullable<ObservedForge['fault']>['code'], DaemonFindingCode>>;

const mostNamed = 20;

/** With other forges a directory without an owner has a finding of its own. */
const none = { count: 0, bytes: 0 };

export function forgeFindings({ forge, ledger }: Pick<Observed, 'forge' | 'ledger'>): readonly Finding[] {
  if (forge === null) return [];
  const { fault, refused, absent } = forge;
  return [
    ...(fault === null ? [] : [makeFinding(forgeFindingCodes[fault.code], forgeAway(fault), fault.mend)]),
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
    ...unownedKinds(forge, forge.kind === 'gitlab' ? ledger.units.unowned : none).map(
      ({ what, count, bytes, mend }) =>
        makeFinding(
          'forge_unowned',
          `${formatBytes(bytes)} in the forge belong to nobody: ${formatCount(count)} ${what}`,
          mend,
        ),
    ),
  ];
}
