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
import { formatBytes, formatMinute, printable } from '../text.ts';
import type { Decided, GateServices, LocatedUnit, PushAnswer, Room } from './services.ts';
import { noRoom } from './services.ts';

/** Width of a terminal without git's `remote: `. */
const lineWidth = 76;

interface RefusalWords {
  readonly ownerName: string;
  readonly subject: Subject;
  readonly decision: Refusal;
  /** Stored bytes of the repository; null if unknown, or if this is not a push. */
  readonly repositoryBytes: number | null;
  /** True for a push, false for an upload. */
  readonly isPush: boolean;
  /** False if no worker can tell whether a push makes the repository smaller; default true. */
  readonly isJudged?: boolean;
  /** Bytes that the push brings; default 0. */
  readonly bringsBytes?: number;
  /** When deleted data makes room; default: unknown. */
  readonly room?: Room | undefined;
  /** True if the repository refuses --force; default false. */
  readonly deniesForce?: boolean;
  /** Lines about the space in the repository; default none. */
  readonly space?: readonly string[];
  /** Lines about removing a file from the push; default none. */
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

/**
 * Suggests the next step. Deleting data helps against a limit, but not if the owner may store nothing at all.
 */
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

/** Ends the sentence with the time at which deleted data makes room, or with the person to ask. */
function whenFreed({ room = noRoom }: RefusalWords, { garbage }: Pick<Refusal, 'garbage'>): string {
  const { isForgiving, passesAt, freedAt } = room;
  const from = (at: number) => `from ${formatMinute(at, Date.now())} on`;
  if (passesAt !== null) return `. Pushes pass again ${from(passesAt)}, when deleted data is off the disk.`;
  const isMost = garbage !== undefined && garbage.unreachable >= garbage.most;
  if (isForgiving && !isMost) return '; data that no branch or tag reaches then does not count.';
  if (freedAt !== null) return `; this frees space ${from(freedAt)}.`;
  return "; this frees space at the server's next garbage collection. Ask the administrator when that is.";
}

/** Returns the contact as a sentence after another; empty if none is configured. */
export function helpAfter(contact: string | null): string {
  return contact === null ? '' : ` ${contactLine(contact)}`;
}

/** An address without a space gets an introduction; a sentence is shown as it is. */
function contactLine(contact: string): string {
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

const mostLines = 20;
export const longestLine = 1000;
const mostSpaceLines = 5;

/** Formats a message of softquota itself, as opposed to one about a limit. */
export function saying(words: string): string {
  return words === '' ? '' : `softquota: ${words}\n`;
}

/**
 * Makes a text safe for terminals, and limits its length. GitLab shows lines with its prefix in browsers,
 * too.
 */
export function shownText(text: string, prefix: string): string {
  return text
    .split('\n', mostLines)
    .filter(line => line !== '')
    .map(line => `${prefix}${printable(line).slice(0, longestLine)}\n`)
    .join('');
}

/** Returns the warning for an allowed action; empty: none. In report mode nobody sees a message. */
export function warningText(
  settings: QuotaSettings,
  { owner, decision }: Decided,
  subject: Subject = 'size:repos:all',
): string {
  const warned =
    settings.mode === 'report' || !decision.allowed ? null : warning(settings, owner.name, subject, decision);
  return warned === null ? '' : `${warned}\n`;
}

/** Returns the text of a push that is refused; empty for one that goes on. */
export function pushRefusalText(
  { contact, worker }: Pick<GateServices, 'contact' | 'worker'>,
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

/** Refuses with a message of softquota itself, whatever the limits say. */
export function refusedInWords(words: string): PushAnswer {
  return { status: 413, text: saying(words) };
}
