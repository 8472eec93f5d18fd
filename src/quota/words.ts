/** Lines of text about a decision. Each is complete by itself, and contains no control character. */

import { formatBytes, formatCount, formatMoment, formatUse, printable } from '../text.ts';
import type { Decision, DiskFull, FullDisk, Garbage, IncomingFile, RuledRefused } from './decision.ts';
import { reachedThreshold } from './judged.ts';
import type { ActiveAllowance, Grace, QuotaSettings } from './policy.ts';
import { leafMask, leafMaskOf, type RuleSubject, type Subject, subjectsWithin } from './subjects.ts';

export type Refusal = Extract<Decision, { readonly allowed: false }> | DiskFull;

/** Names of each subject that fit before "use" and after "store"; lists, so that several can be joined. */
const words: Readonly<Record<Exclude<Subject, 'size:all'>, readonly string[]>> = {
  'size:git:all': ['repositories', 'LFS objects'],
  'size:repos:all': ['repositories'],
  'size:repos:public': ['public repositories'],
  'size:repos:private': ['private repositories'],
  'size:git:lfs': ['LFS objects'],
  'size:assets:all': ['attachments', 'artifacts', 'packages', 'wikis'],
  'size:assets:attachments:all': ['attachments'],
  'size:assets:attachments:issues': ['issue attachments'],
  'size:assets:attachments:releases': ['release attachments'],
  'size:assets:artifacts': ['artifacts'],
  'size:assets:packages:all': ['packages'],
  'size:assets:wiki': ['wikis'],
};

/** Returns the name of a subject: `LFS objects`, `repositories and LFS objects`, `everything`. */
export function subjectWords(subject: RuleSubject): string {
  if (subject === 'none') return 'nothing';
  return subject === 'size:all' ? 'everything' : enumerated(words[subject]);
}

function enumerated(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/**
 * Says why an action may not start: `Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).` `subject` is that
 * of the question.
 */
export function refusal(ownerName: string, subject: Subject, decision: Refusal): string {
  const owner = printable(ownerName);
  if (decision.by === 'disk') return `${fullDiskWords(decision.disk)}.`;
  if (decision.by === 'no_match') {
    const what = subject === 'size:all' ? `all data of ${owner}` : `${owner}'s ${subjectWords(subject)}`;
    return `Quota refused: no rule covers ${what}.`;
  }
  if (decision.per !== undefined) {
    return `${boundWords(decision, subject)}.${graceGone(decision)}${extra(decision)}`;
  }
  if (decision.limit === 0) {
    const what = countedWords(leafMaskOf(decision.subjects)) || 'anything';
    return `Quota is 0: ${owner} may not store ${what}.`;
  }
  const promised = decision.reserved > 0 ? `, ${formatBytes(decision.reserved)} of that reserved` : '';
  const brings =
    decision.incoming > 0 ? `this ${action(subject)} brings ${formatBytes(decision.incoming)}` : '';
  const stands = `${use(owner, decision)}${promised}`;
  const isTold = brings !== '' && decision.used <= decision.limit;
  return `${refusedBecause(decision)}: ${stands}${isTold ? `, and ${brings}` : ''}.${graceGone(decision)}${extra(decision)}`;
}

/** Returns a sentence: `The disk is nearly full: 1.2 GB of 100 GB are free, and 5 GB have to stay free` */
export function fullDiskWords({ of, free, size, least }: FullDisk): string {
  const shown = of === 'bytes' ? formatBytes : formatCount;
  const what = of === 'bytes' ? 'are free' : 'more files fit';
  const stay = of === 'bytes' ? 'have to stay free' : 'have to stay possible';
  return `The disk is nearly full: ${shown(free)} of ${shown(size)} ${what}, and ${shown(least)} ${stay}`;
}

/** Names the action that grows a subject: repositories and wikis grow by pushes, all else by uploads. */
function action(subject: Subject): 'push' | 'upload' {
  return subject.startsWith('size:repos:') || subject === 'size:assets:wiki' ? 'push' : 'upload';
}

/** Usage may be at or below the limit, if the limit refuses when it is reached, or added bytes count. */
function refusedBecause({ used, limit, reserved }: Extract<Refusal, { readonly by: 'rule' }>): string {
  if (used > limit) return 'Quota exceeded';
  return used === limit && reserved === 0 ? 'Quota reached' : 'Not enough quota left';
}

/**
 * Warns of a reached threshold (`Quota warning: alice uses 9.2 GB of 10 GB (92 %).`), of a running grace, and
 * of a passed limit that only warns; null if there is none of these.
 */
export function warning(
  settings: Pick<QuotaSettings, 'warnAt'>,
  ownerName: string,
  subject: Subject,
  decision: Decision | DiskFull,
): string | null {
  if (!decision.allowed || decision.by !== 'rule') return null;
  const owner = printable(ownerName);
  const { grace, near = [], warned } = decision;
  const isNear = reachedThreshold(settings, decision) !== null;
  const said = [
    ...(grace === undefined
      ? []
      : [`${use(owner, decision)}${comes(decision)}. ${graceLeft(grace)}${extra(decision)}`]),
    ...(grace === undefined && isNear ? [`${use(owner, decision)}.${extra(decision)}`] : []),
    ...near.map(bound => {
      const left = bound.grace === undefined ? '' : ` ${graceLeft(bound.grace)}`;
      return `${boundWords(bound, subject)}.${left}${extra(bound)}`;
    }),
    ...(warned === undefined ? [] : [onlyWarned(owner, subject, warned)]),
  ];
  return said.length === 0 ? null : `Quota warning: ${said.join(' ')}`;
}

/** Names the passed limit of a rule that only warns. */
function onlyWarned(owner: string, subject: Subject, decision: RuledRefused): string {
  const { limit, per, subjects } = decision;
  if (per !== undefined) {
    return `${boundWords(decision, subject)}; this limit refuses nothing.${extra(decision)}`;
  }
  const passed =
    limit === 0
      ? `${owner} should store ${noneOf(countedWords(leafMaskOf(subjects)))}`
      : `${use(owner, decision)}${comes(decision)}`;
  return `${passed}; this limit refuses nothing.${extra(decision)}`;
}

/** Names the incoming bytes if the stored ones alone do not pass the limit. */
function comes({ incoming, used, limit }: Measured): string {
  return incoming > 0 && used <= limit ? `, and ${formatBytes(incoming)} come` : '';
}

/** Says how much an allowed owner uses: `alice uses 1.2 GB of 10 GB (12 %).` */
export function standing(ownerName: string, decision: Exclude<Decision, Refusal>): string {
  const owner = printable(ownerName);
  if (decision.by === 'disabled')
    return `${owner} uses ${formatBytes(decision.used)}; quotas are switched off.`;
  if (decision.limit === -1) {
    return `${user(owner, decision.subjects)} ${formatBytes(decision.used)}; there is no limit.`;
  }
  const grace = decision.grace === undefined ? '' : ` ${graceLeft(decision.grace)}`;
  return `${use(owner, decision)}.${grace}${extra(decision)}`;
}

function graceLeft({ until, below }: Grace): string {
  return `Refusals begin on ${formatMoment(until)}, or at ${formatBytes(below)}.`;
}

/** Says why the grace does not allow the action, as a sentence after another. */
function graceGone({ grace, used, incoming }: Measured): string {
  if (grace === undefined) return '';
  return used + incoming >= grace.below
    ? ` The grace reaches only up to ${formatBytes(grace.below)}.`
    : ` The grace ended on ${formatMoment(grace.until)}.`;
}

/** Names forgiven bytes, and the part of the limit that is an allowance, as sentences after another. */
function extra({ garbage, allowance }: Measured): string {
  return `${garbage === undefined ? '' : forgiven(garbage)}${allowance === undefined ? '' : lent(allowance)}`;
}

function forgiven({ stored, unreachable, billed }: Garbage): string {
  const bytes = formatBytes(stored - billed);
  return stored - billed === unreachable
    ? ` ${bytes} more do not count, since no branch or tag reaches them.`
    : ` ${bytes} more do not count, of ${formatBytes(unreachable)} that no branch or tag reaches.`;
}

function lent(allowance: ActiveAllowance): string {
  const bytes = formatBytes(allowance.bytes);
  const until = formatMoment(allowance.until);
  return allowance.count === 1
    ? ` ${bytes} of this limit are an allowance until ${until}.`
    : ` ${bytes} of this limit are allowances; the first of them ends at ${until}.`;
}

type Measured = Extract<Decision, { readonly by: 'rule' }>;

/**
 * Says how much of a bound is taken: `Repository alice/app is too large: it has 5.2 GB of 4 GB`, `This push
 * brings 2.4 GB; a push may bring 2 GB`. `asked` is the subject of the question.
 */
function boundWords(bound: Measured, asked: Subject): string {
  const { used, limit } = formatUse(bound.used, bound.limit);
  if (bound.per === 'push') {
    const each = action(asked) === 'push' ? 'a push' : 'an upload';
    return `This ${action(asked)} brings ${used}; ${each} may bring ${limit}`;
  }
  if (bound.per === 'file') return `${fileWords(bound.file)} has ${used}; a file may have ${limit}`;
  const name = printable(`${bound.per === 'group' ? bound.group : bound.unit}`);
  const whole = bound.per === 'group' ? `The group ${name}` : `Repository ${name}`;
  const what =
    bound.per === 'group' || !namesRepositories(bound) ? countedWords(leafMaskOf(bound.subjects)) : '';
  if (bound.limit === 0) return `${whole} may store ${noneOf(what)}`;
  const stands = `${used} of ${limit}`;
  const isOver = bound.used > bound.limit;
  const share = bound.share === undefined ? '' : `, of which you have ${formatBytes(bound.share)}`;
  const more =
    bound.incoming > 0 && !isOver ? `, and this ${action(asked)} brings ${formatBytes(bound.incoming)}` : '';
  if (bound.per === 'repository' && isOver) {
    return `${whole} is too large: ${what === '' ? 'it has' : `its ${what} have`} ${stands}`;
  }
  return `${what === '' ? `${whole} has` : `${whole}'s ${what} have`} ${stands}${share}${more}`;
}

function noneOf(what: string): string {
  return what === '' ? 'nothing' : `no ${what}`;
}

/** Tells whether a limit counts pushed data, so that a repository's name says enough. */
function namesRepositories({ subjects }: Pick<Measured, 'subjects'>): boolean {
  return (leafMaskOf(subjects) & (leafMask('size:repos:all') | leafMask('size:assets:wiki'))) !== 0;
}

function fileWords({ name, object }: Partial<IncomingFile> = {}): string {
  if (name !== undefined) return printable(name);
  return object === undefined ? 'This file' : `The file with the object id ${printable(object)}`;
}

function use(owner: string, decision: Measured): string {
  const { used, limit, percent } = formatUse(decision.used, decision.limit);
  return `${user(owner, decision.subjects)} ${used} of ${limit} (${percent})`;
}

/** Names the owner, or the owner's kinds of data, as the subject of the sentence. */
function user(owner: string, subjects: readonly RuleSubject[]): string {
  const what = countedWords(leafMaskOf(subjects));
  return what === '' ? `${owner} uses` : `${owner}'s ${what} use`;
}

/** Cached by the set of leaves, since there are few sets, and every answer of the gate needs the words. */
const counted = new Map<number, string>();

/** Names the largest subjects within the mask; empty if it has all leaves. */
function countedWords(mask: number): string {
  const known = counted.get(mask);
  if (known !== undefined) return known;
  const subjects = subjectsWithin(mask);
  const told = enumerated(subjects.flatMap(subject => (subject === 'size:all' ? [] : words[subject])));
  counted.set(mask, told);
  return told;
}

/** Names the deciding rule: `Decided by rule "total" of group "free".`; null if no named group decided. */
export function decidedBy(decision: Pick<Decision, 'group' | 'rule'>): string | null {
  if (decision.rule === null || decision.group === null) return null;
  return `Decided by rule "${printable(decision.rule)}" of group "${printable(decision.group)}".`;
}
