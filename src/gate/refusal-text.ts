/**
 * The text that a refused pusher or uploader reads: the owner, the usage, the limit, the group and rule that
 * decided, and the next step.
 *
 * The text names no other repository, because the reader may not be allowed to see it.
 */

import {
  decidedBy,
  isDiskFilled,
  type Leaf,
  type QuotaSettings,
  type Refusal,
  refusal,
  type Subject,
  warning,
} from '../quota/index.ts';
import { formatBytes, formatMinute, printable } from '../text/index.ts';
import type { Decided, GateServices, LocatedUnit, PushAnswer, PushWorker, Room } from './services.ts';
import { noRoom } from './services.ts';

/** The width of a terminal without git's `remote: `. */
const lineWidth = 76;

interface RefusalWords {
  readonly ownerName: string;
  readonly subject: Subject;
  readonly decision: Refusal;
  /** The bytes of the repository that is pushed to; null if it is not known, or if this is no push. */
  readonly repositoryBytes: number | null;
  /** True for a push, false for an upload. */
  readonly isPush: boolean;
  /** Somebody can tell whether a push makes the repository smaller; so, unless given. */
  readonly isJudged?: boolean;
  /** The bytes that a push brings; 0 unless given. */
  readonly bringsBytes?: number;
  /** Nobody knows what becomes of deleted data, unless given. */
  readonly room?: Room | undefined;
  /** git refuses --force in the repository; it does not, unless given. */
  readonly deniesForce?: boolean;
  /** Whole lines about what takes the space in the repository; none, unless given. */
  readonly space?: readonly string[];
  /** Whole lines about how to take a file out of the push; none, unless given. */
  readonly advice?: readonly string[];
  /** Text or address to turn to; null if none is configured. */
  readonly contact: string | null;
}

export function refusalText(words: RefusalWords): string {
  const { ownerName, subject, decision, isPush, space = [], advice = [], contact } = words;
  const lines = [refusal(ownerName, subject, decision)];
  const rule = decidedBy(decision);
  if (rule !== null) lines.push(rule);
  lines.push(...space);
  const rest = [
    ...(words.repositoryBytes === null ? [] : [`This repository: ${formatBytes(words.repositoryBytes)}.`]),
    `Nothing from this ${isPush ? 'push' : 'upload'} was stored.`,
    ...nextStep(words),
  ];
  const last = contact === null || decision.by === 'disk' ? [] : wrapped(contactLine(contact));
  return `${[...lines, ...wrapped(rest.join(' ')), ...advice, ...last].join('\n')}\n`;
}

/** Deleting data helps against a limit, but not if the owner may store nothing at all. */
function nextStep(words: RefusalWords): string[] {
  const { decision, isPush, isJudged = true, deniesForce = false } = words;
  if (decision.by === 'disk') {
    return ['You can still delete branches and tags. Try again later, or tell the administrator.'];
  }
  if (decision.by === 'no_match' || decision.limit === 0)
    return words.contact === null ? ['To ask for space, turn to the administrator.'] : [];
  if (decision.per === 'file') return [];
  if (decision.per === 'push') {
    const parts = 'The oldest commits can be pushed first: git push origin COMMIT:refs/heads/BRANCH';
    return isPush ? [parts] : [];
  }
  if (!isPush) return ['You can still delete data to free space.'];
  const mayReplace = isJudged && !deniesForce && !isDiskFilled(decision, words.bringsBytes ?? 0);
  const ways = mayReplace ? ', or push a smaller history with --force' : ', in a push of their own';
  const why = 'The repository takes no --force, because of receive.denyNonFastForwards.';
  return [
    `You can still delete branches and tags${ways}${whenFreed(words, decision)}`,
    ...(isJudged && deniesForce ? [why] : []),
  ];
}

/** Says when what is deleted makes room, or whom to ask, at the end of a sentence. */
function whenFreed({ room = noRoom }: RefusalWords, { garbage }: Pick<Refusal, 'garbage'>): string {
  const { isForgiving, passesAt, freedAt } = room;
  const from = (at: number) => `from ${formatMinute(at, Date.now())} on`;
  if (passesAt !== null) return `. Pushes pass again ${from(passesAt)}, when deleted data is off the disk.`;
  const isMost = garbage !== undefined && garbage.unreachable >= garbage.most;
  if (isForgiving && !isMost) return '; data that no branch or tag reaches then does not count.';
  if (freedAt !== null) return `; this frees space ${from(freedAt)}.`;
  return "; this frees space at the server's next garbage collection. Ask the administrator when that is.";
}

/** An address without a space gets an introduction; a sentence is shown as it is. */
export function contactLine(contact: string): string {
  return /^\S+$/.test(contact) ? `To ask for more space: ${contact}` : contact;
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines;
}

/** The answers to a push that have no words. */
export const goOn: PushAnswer = { status: 200, text: '' };
export const askAgain: PushAnswer = { status: 202, text: '' };
export const notManaged: PushAnswer = { status: 404, text: '' };

const mostLines = 20;
export const longestLine = 1000;
const mostSpaceLines = 5;
const longestName = 80;

/** Lines of softquota itself, which are no words about a limit. */
export function saying(words: string): string {
  return words === '' ? '' : `softquota: ${words}\n`;
}

/** The text of an answer, harmless on a terminal; GitLab shows lines with its prefix in browsers too. */
export function shownText(text: string, prefix: string): string {
  return text
    .split('\n', mostLines)
    .filter(line => line !== '')
    .map(line => `${prefix}${printable(line).slice(0, longestLine)}\n`)
    .join('');
}

/** A name that whoever pushes has chosen. */
export function shortened(name: string): string {
  return name.length > longestName ? `${name.slice(0, longestName)}...` : name;
}

/** Returns the warning for a push that goes on. In report mode the pusher sees no message. */
export function warningText(settings: QuotaSettings, { owner, decision }: Decided): string {
  const warned =
    settings.mode === 'report' || !decision.allowed
      ? null
      : warning(settings, owner.name, 'size:repos:all', decision);
  return warned === null ? '' : `${warned}\n`;
}

/** Returns the text of a refusal; empty for a push that goes on. */
export function refusedText(
  { contact, worker }: Pick<GateServices, 'contact'> & { readonly worker: PushWorker },
  { leaf, unit }: { readonly leaf: Leaf; readonly unit: LocatedUnit | null },
  { owner, decision }: Decided,
  { space = [], ...more }: Partial<RefusalWords>,
): string {
  if (decision.allowed) return '';
  return refusalText({
    ownerName: owner.name,
    subject: leaf,
    decision,
    isPush: true,
    isJudged: worker.isHere,
    room: worker.roomFor(owner.name, unit?.path ?? null, decision),
    repositoryBytes: unit?.bytes ?? null,
    space: space.slice(0, mostSpaceLines),
    contact: contact(),
    ...more,
  });
}

/** Refuses in softquota's own words, whatever limits say. */
export function refusedInWords(words: string): PushAnswer {
  return { status: 413, text: saying(words) };
}
