/**
 * `softquota policy import`: shows what a policy would change and whom it would refuse or allow, and then
 * changes exactly that, or nothing.
 */

import { exitCodes, SoftquotaError } from '../errors.ts';
import { leafMask, subjectsWithin } from '../quota/index.ts';
import { counted, formatCount, formatUse, printable } from '../text.ts';
import type {
  ChangedOwner,
  NewWholePolicy,
  ReplacedPolicy,
  Rule,
  Simulation,
  Verdict,
  WholePolicy,
} from '../wire/index.ts';
import { type DaemonClient, policyInForce } from './client.ts';
import { limitShown, ruleText, scopeWords } from './limits.ts';
import { escapedLines, jsonText, type Texts, table, textsIn } from './output.ts';
import { draftOf, readPolicyFile } from './policy-file.ts';
import type { CommonOptions } from './settings.ts';
import { confirmed, print } from './streams.ts';

export interface ImportOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly createUsers?: boolean;
}

/** Resolves with the exit status. */
export async function importPolicy(
  client: DaemonClient,
  wanted: NewWholePolicy,
  options: ImportOptions,
): Promise<number> {
  const { json = false, dryRun = false, yes = false, createUsers = false } = options;
  const before = await policyInForce(client);
  // The version is that of the shown policy, so that the import fails if the policy changes meanwhile.
  const body = { ...wanted, version: before.version };
  const after = await sendPolicy(client, body, { dryRun: true, createUsers });
  const difference = differenceOf(before, after);
  const trial = difference === null ? null : await simulatedPolicy(client, draftOf(withoutCreated(after)));
  const created = after.created_users.map(name => `+ user ${printable(name)}\n`).join('');
  const shown =
    difference === null || trial === null
      ? 'Nothing would change: this policy is already in force.\n'
      : `${differenceText(difference)}${created}\n${simulationText(trial)}`;
  if (!json) print(shown);
  const goesOn = difference !== null && !dryRun;
  if (goesOn && !yes && !(await confirmed('Import it?', json ? shown : ''))) {
    if (!json) print('Nothing was imported.\n');
    return exitCodes.refused;
  }
  if (goesOn) await sendPolicy(client, body, { dryRun: false, createUsers }).catch(changedMeanwhile);
  if (json) {
    print(jsonText({ imported: goesOn, difference, created_users: after.created_users, simulation: trial }));
  } else if (goesOn) print('\nImported. The policy is in force.\n');
  return exitCodes.done;
}

async function sendPolicy(
  client: DaemonClient,
  body: NewWholePolicy,
  { dryRun, createUsers }: { readonly dryRun: boolean; readonly createUsers: boolean },
): Promise<ReplacedPolicy> {
  // If omitted, [users] AUTO_CREATE decides.
  const creating = createUsers ? '&create_users=true' : '';
  const path = `/admin/quota/policy?dry_run=${dryRun}${creating}`;
  return await client.get<ReplacedPolicy>({ method: 'PUT', path, body });
}

const mostOwners = 20;

/** Tries a policy. The answer names the first owners who would be newly refused or allowed. */
export async function simulatedPolicy(
  client: DaemonClient,
  body: Readonly<Record<string, unknown>>,
): Promise<Simulation> {
  const path = `/admin/quota/simulate?limit=${mostOwners}`;
  return await client.get<Simulation>({ method: 'POST', path, body });
}

/** The policy in a file. Throws `invalid` if it has settings, or lacks rules or groups. */
export function policyInFile(file: string): NewWholePolicy {
  const { rules, groups, settings } = readPolicyFile(file);
  const fault = (words: string) => new SoftquotaError('invalid', `${file}: ${words}`);
  if (settings !== undefined) {
    throw fault(
      'settings: an import cannot change settings of app.ini; softquota policy simulate can try them',
    );
  }
  const missing = 'it is missing; an import replaces all rules and groups';
  if (rules === undefined) throw fault(`rules: ${missing}`);
  if (groups === undefined) throw fault(`groups: ${missing}`);
  return { rules, groups };
}

/** Leaves out users who do not exist yet: they store nothing, and a trial does not know them. */
function withoutCreated({ rules, groups, created_users }: ReplacedPolicy): Omit<WholePolicy, 'version'> {
  const created = new Set(created_users);
  return {
    rules,
    groups: groups.map(group => ({ ...group, users: group.users.filter(name => !created.has(name)) })),
  };
}

function changedMeanwhile(error: unknown): never {
  if (!(error instanceof SoftquotaError) || error.code !== 'conflict') throw error;
  throw new SoftquotaError(
    'conflict',
    'somebody else changed the policy after these changes were shown. Nothing was imported: run the command again',
    { cause: error },
  );
}

type WholeGroup = WholePolicy['groups'][number];

interface Changed<T> {
  readonly added: readonly T[];
  readonly removed: readonly T[];
}

interface Both<T> {
  readonly before: T;
  readonly after: T;
}

interface ChangedGroup {
  readonly name: string;
  readonly rules: Changed<string>;
  readonly users: Changed<string>;
}

/** Difference of two policies, as `softquota policy import --json` prints it. */
interface Difference {
  readonly rules: Changed<Rule> & { readonly changed: readonly Both<Rule>[] };
  readonly groups: Changed<WholeGroup> & { readonly changed: readonly ChangedGroup[] };
  /** True if only the order of something is different. */
  readonly only_order: boolean;
}

/** The difference of two policies; null if they are the same. */
function differenceOf(before: WholePolicy, after: WholePolicy): Difference | null {
  if (before.version === after.version) return null;
  const rules = {
    ...changedIn(before.rules, after.rules, nameOf),
    changed: inBoth(before.rules, after.rules).filter(
      ({ before: was, after: is }) => inAnyOrder(was) !== inAnyOrder(is),
    ),
  };
  const groups = {
    ...changedIn(before.groups, after.groups, nameOf),
    changed: inBoth(before.groups, after.groups)
      .map(changedGroup)
      .filter(group => !isNothing(group.rules) || !isNothing(group.users)),
  };
  const onlyOrder = [rules, groups].every(each => isNothing(each) && each.changed.length === 0);
  return { rules, groups, only_order: onlyOrder };
}

/** Whole lines: `+` added, `-` removed, `~` changed. */
function differenceText({ rules, groups, only_order: onlyOrder }: Difference): string {
  if (onlyOrder) return 'Only the order changes.\n';
  return escapedLines([
    ...rules.added.map(rule => `+ rule ${rule.name}: ${ruleText(rule)}`),
    ...rules.changed.map(ruleLine),
    ...rules.removed.map(rule => `- rule ${rule.name}: ${ruleText(rule)}`),
    ...groups.added.map(group => `+ group ${group.name}: ${contentOf(group)}`),
    ...groups.changed.map(groupLine),
    ...groups.removed.map(group => `- group ${group.name}: ${contentOf(group)}`),
  ]);
}

function ruleLine({ before, after }: Both<Rule>): string {
  const isOnlyLimit = inAnyOrder({ ...before, limit: after.limit }) === inAnyOrder(after);
  const was = isOnlyLimit ? limitShown(before.limit) : ruleText(before);
  return `~ rule ${after.name}: ${ruleText(after)} (was ${was})`;
}

/** The text of a rule with its subjects sorted. */
function inAnyOrder(rule: Rule): string {
  return ruleText({ ...rule, subjects: rule.subjects.toSorted() });
}

function groupLine({ name, rules, users }: ChangedGroup): string {
  const parts = [
    ['rule', '+', rules.added],
    ['rule', '-', rules.removed],
    ['user', '+', users.added],
    ['user', '-', users.removed],
  ] as const;
  const told = parts.flatMap(([what, sign, names]) =>
    names.length === 0 ? [] : [`${sign} ${listed(what, names)}`],
  );
  return `~ group ${name}: ${told.join('; ')}`;
}

function contentOf({ rules, users }: WholeGroup): string {
  return `${rules.length === 0 ? 'no rules' : listed('rule', rules)}; ${users.length === 0 ? 'nobody' : listed('user', users)}`;
}

/** Number of names that are listed; others are only counted. */
const mostNames = 8;

function listed(what: string, names: readonly string[]): string {
  const more = names.length - mostNames;
  const named = names.slice(0, mostNames).join(', ');
  return `${names.length === 1 ? what : `${formatCount(names.length)} ${what}s`} ${named}${more > 0 ? ` and ${formatCount(more)} more` : ''}`;
}

interface Named {
  readonly name: string;
}

function changedGroup({ before, after }: Both<WholeGroup>): ChangedGroup {
  return {
    name: after.name,
    rules: changedIn(before.rules, after.rules, String),
    users: changedIn(before.users, after.users, String),
  };
}

function inBoth<T extends Named>(before: readonly T[], after: readonly T[]): readonly Both<T>[] {
  const was = new Map(before.map(each => [each.name, each]));
  return after.flatMap(each => {
    const known = was.get(each.name);
    return known === undefined ? [] : [{ before: known, after: each }];
  });
}

function changedIn<T>(before: readonly T[], after: readonly T[], nameOf: (each: T) => string): Changed<T> {
  const [was, is] = [new Set(before.map(nameOf)), new Set(after.map(nameOf))];
  return {
    added: after.filter(each => !was.has(nameOf(each))),
    removed: before.filter(each => !is.has(nameOf(each))),
  };
}

function nameOf({ name }: Named): string {
  return name;
}

function isNothing({ added, removed }: Changed<unknown>): boolean {
  return added.length === 0 && removed.length === 0;
}

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
