/**
 * The lines that a pusher or uploader reads when refused: who, how much, of what limit, by which group
 * and rule, and what to do now.
 *
 * Other repositories are not named, because the reader may not be allowed to see them.
 */

import { type Decision, decidedBy, refusal, type Subject } from '../quota/index.ts';
import { formatBytes } from '../text/index.ts';

/** The part of a terminal that git leaves beside its `remote: `. */
const lineWidth = 76;

export interface RefusalWords {
  readonly ownerName: string;
  readonly subject: Subject;
  readonly decision: Extract<Decision, { readonly allowed: false }>;
  /** Bytes of the repository that is pushed to; null for anything but a push to a known one. */
  readonly repositoryBytes: number | null;
  /** Tells whether git asks, or something that uploads. */
  readonly isPush: boolean;
  /** `[hooks] CONTACT`. */
  readonly contact: string | null;
}

export function refusalText(words: RefusalWords): string {
  const { ownerName, subject, decision, isPush, contact } = words;
  const lines = [refusal(ownerName, subject, decision)];
  const rule = decidedBy(decision);
  if (rule !== null) lines.push(rule);
  const rest = [
    ...(words.repositoryBytes === null ? [] : [`This repository: ${formatBytes(words.repositoryBytes)}.`]),
    `Nothing of this ${isPush ? 'push' : 'upload'} was stored${whatHelps(decision, isPush)}`,
    ...(contact === null ? [] : [howToAsk(contact)]),
  ];
  return `${[...lines, ...wrapped(rest.join(' '))].join('\n')}\n`;
}

/** Deleting helps against a limit, but not where nothing may be stored at all. */
function whatHelps(decision: RefusalWords['decision'], isPush: boolean): string {
  if (decision.by === 'no_match' || decision.limit === 0) return '.';
  return isPush
    ? "; deleting still works, and frees space at the server's next cleanup."
    : '; deleting still works, and frees space.';
}

/** A bare address wants an introduction; words speak for themselves. */
function howToAsk(contact: string): string {
  return /^\S+$/.test(contact) ? `Ask for more: ${contact}` : contact;
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
