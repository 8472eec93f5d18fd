/** The answers to a push, and the lines that the hook shows. */

import { type QuotaSettings, warning } from '../../quota/index.ts';
import { printable } from '../../text/index.ts';
import type { Decided } from '../decided.ts';
import { type RefusalWords, refusalText } from '../refusal-text.ts';
import type { GateServices } from '../services.ts';
import type { PushPlace } from './facts.ts';
import type { PushAnswer, PushWorker } from './services.ts';

export const goOn: PushAnswer = { status: 200, text: '' };
export const askAgain: PushAnswer = { status: 202, text: '' };
export const notManaged: PushAnswer = { status: 404, text: '' };

const mostLines = 20;
const longestLine = 1000;
const mostSpaceLines = 5;
const longestName = 80;

/** Lines of softquota itself, which are no words about a limit. */
export function saying(words: string): string {
  return words === '' ? '' : `softquota: ${words}\n`;
}

/**
 * The text of an answer, harmless on a terminal; GitLab shows lines with its prefix in the browser as well.
 */
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
    settings.mode === 'report' || !decision.allowed ? null : warning(settings, owner.name, decision);
  return warned === null ? '' : `${warned}\n`;
}

/** Returns the text of a refusal; empty for a push that goes on. */
export function refusedText(
  { contact, ledger, worker }: Pick<GateServices, 'contact' | 'ledger'> & { readonly worker: PushWorker },
  { leaf, unit }: PushPlace,
  { owner, decision }: Decided,
  { space = [], ...more }: Partial<RefusalWords>,
): string {
  if (decision.allowed) return '';
  return refusalText({
    ownerName: owner.name,
    subject: leaf,
    decision,
    isPush: true,
    isForgiving: ledger.settings.garbage === 'forgive',
    isJudged: worker.isHere,
    repositoryBytes: unit?.bytes ?? null,
    space: space.slice(0, mostSpaceLines),
    contact: contact(),
    ...more,
  });
}
