/** Prints the owners that a policy would refuse or allow, and its possible mistakes. */

import { leafMask, subjectsWithin } from '../quota/index.ts';
import { counted, formatCount, formatUse } from '../text/index.ts';
import type { ChangedOwner, Simulation, Verdict } from '../wire/index.ts';
import { escapedLines } from './output.ts';
import { table } from './table.ts';

/** Whole lines. */
export function simulationText({ owners, refused, graced, allowed }: Simulation): string {
  return [
    `${formatCount(refused.count)} of ${counted(owners, 'owner', 'owners')} would be newly refused, ` +
      `${formatCount(allowed.count)} would be newly allowed.\n`,
    ...changedText('NEWLY REFUSED', refused),
    ...(graced === undefined
      ? []
      : [`${formatCount(graced.count)} would be newly over a limit, within its grace.\n`]),
    ...changedText('NEWLY IN GRACE', graced ?? { count: 0, first: [] }),
    ...changedText('NEWLY ALLOWED', allowed),
  ].join('');
}

function changedText(title: string, { count, first }: Simulation['refused']): readonly string[] {
  if (count === 0) return [];
  const shown = table(first.flatMap(rowsOf), [
    [title, row => row.user],
    ['WHAT', row => row.what],
    ['USED', row => row.use.used, 'right'],
    ['LIMIT', row => row.use.limit, 'right'],
    ['BY', row => row.by],
  ]);
  const more = count - first.length;
  return [`\n${shown}`, ...(more > 0 ? [`… and ${formatCount(more)} more\n`] : [])];
}

/** A row for each limit: several kinds of data may come under one. */
function rowsOf({ user, changes }: ChangedOwner) {
  const byLimit = new Map<string, { readonly after: Verdict; readonly leaves: number }>();
  for (const { subject, after } of changes) {
    const key = JSON.stringify(after);
    const known = byLimit.get(key) ?? { after, leaves: 0 };
    byLimit.set(key, { after, leaves: known.leaves | leafMask(subject) });
  }
  return [...byLimit.values()].map(({ after, leaves }) => {
    const { used, limit } = after;
    const use = used === null || limit === null ? nothingCovers : formatUse(used, limit);
    const what = subjectsWithin(leaves).join(', ');
    return { user, what, use, by: deciderOf(after) };
  });
}

const nothingCovers = { used: '-', limit: 'no rule' };

function deciderOf({ group, rule }: Verdict): string {
  if (group === null) return '[quota.default] TOTAL';
  return rule === null ? `group ${group}` : `rule ${rule} of ${group}`;
}

/** Whole lines. */
export function faultsText(faults: Simulation['lint']): string {
  if (faults.length === 0) return 'No problems found.\n';
  return escapedLines(faults.map(({ message }) => message));
}
