/** Finds possible mistakes in a policy, and prints them and the owners whom it would refuse or allow. */

import { loadConfig } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import type { LintSettings } from '../policy/index.ts';
import { leafMask, subjectsWithin } from '../quota/index.ts';
import { counted, formatCount, formatUse } from '../text.ts';
import type { ChangedOwner, LintFault, Simulation, Verdict } from '../wire/index.ts';
import { scopeWords } from './limits.ts';
import { escapedLines, type Texts, table, textsIn } from './output.ts';
import { readPolicyFile } from './policy-file.ts';
import { type ConfigOption, configFrom, whereIs } from './settings.ts';

/** Whole lines. */
export function simulationText({
  owners,
  refused,
  graced,
  allowed,
  not_asked: notAsked = [],
}: Simulation): string {
  return textsIn([
    `${formatCount(refused.count)} of ${counted(owners, 'owner', 'owners')} would be newly refused, ` +
      `${formatCount(allowed.count)} would be newly allowed.\n`,
    changedText('NEWLY REFUSED', refused),
    graced && `${formatCount(graced.count)} would be newly over a limit, within its grace.\n`,
    graced && changedText('NEWLY IN GRACE', graced),
    changedText('NEWLY ALLOWED', allowed),
    notAsked.map(per => `Limits ${scopeWords[per]} are not part of this: they decide about what comes.\n`),
  ]).join('');
}

function changedText(title: string, { count, first }: Simulation['refused']): Texts {
  if (count === 0) return null;
  const shown = table(first.flatMap(rowsOf), [
    [title, row => row.user],
    ['WHAT', row => row.what],
    ['USED', row => row.use.used, 'right'],
    ['LIMIT', row => row.use.limit, 'right'],
    ['BY', row => row.by],
  ]);
  const more = count - first.length;
  return [`\n${shown}`, more > 0 && `… and ${formatCount(more)} more\n`];
}

/** A row for each limit: several kinds of data may come under one. */
function rowsOf({ user, changes }: ChangedOwner) {
  const byLimit = Map.groupBy(changes, ({ unit, after }) => JSON.stringify([unit, after]));
  return [...byLimit.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const { unit, after } = first;
    const leaves = others.reduce((mask, { subject }) => mask | leafMask(subject), leafMask(first.subject));
    const { used, limit } = after;
    const use = used === null || limit === null ? nothingCovers : formatUse(used, limit);
    return [{ user, what: unit ?? subjectsWithin(leaves).join(', '), use, by: deciderOf(after) }];
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

/** The defaults of [quota]. */
const defaults: LintSettings = {
  enabled: true,
  refuseWhen: 'exceeded',
  uncovered: 'default',
  precise: false,
  mode: 'enforce',
  warnAt: [],
  totalBytes: -1,
  defaultGroups: [],
};

/** Checks a policy for mistakes; `-` is standard input. Throws `invalid` if the file is no policy. */
export async function lintFile(file: string, options: ConfigOption): Promise<readonly LintFault[]> {
  const { rules = [], groups = [], settings = {} } = readPolicyFile(file);
  const known = knownSettings(options);
  const { lintApart, ruleFrom } = await import('../policy/index.ts');
  const policy = {
    rules: rules.map(({ name, limit, subjects, per, mode }) =>
      ruleFrom(name, {
        limitBytes: limit,
        ...given({ subjects: subjects ?? undefined, per: per ?? undefined, mode: mode ?? undefined }),
      }),
    ),
    groups: groups.map(({ name, rules: named, users }) => ({
      name,
      rules: (named ?? []).map(rule => ({ name: rule })),
      // Without a list a group keeps its members; the file does not say how many.
      ownerIds: users?.map((_, index) => index) ?? [0],
    })),
  };
  const wanted = given({
    totalBytes: settings.total,
    defaultGroups: settings.default_groups,
    refuseWhen: settings.refuse_when,
    uncovered: settings.uncovered,
  });
  try {
    const faults = lintApart(policy, { ...(known ?? defaults), ...wanted });
    const areSettingsKnown = known !== null || settings.total !== undefined || settings.uncovered === 'deny';
    return areSettingsKnown ? faults : faults.filter(({ code }) => code !== 'uncovered_subject');
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'invalid') throw error;
    throw new SoftquotaError('invalid', `${file}: ${error.message}`, { cause: error });
  }
}

/** The settings of app.ini; null if no file is named, and none in the usual places can be used. */
function knownSettings(options: ConfigOption): LintSettings | null {
  const where = whereIs(options);
  const isNamed = where.file !== undefined || (where.env.SOFTQUOTA_CONFIG ?? '') !== '';
  if (isNamed) return configFrom(options).quota;
  const loaded = loadConfig(where);
  return loaded.ok ? loaded.config.quota : null;
}
