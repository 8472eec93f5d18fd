/**
 * All findings by their codes, and how bad each is: `notice` is a future problem, or something to know. The
 * manual (docs/doctor.md) says what each means, and how to fix it. Makes findings, shortens long lists of
 * them, and writes command lines that can be copied into a shell, even with odd names in them.
 */

import { encodePath } from '../layout/index.ts';
import { printable, shellQuoted } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import type { Listed } from './observed.ts';

/** Findings that a daemon can have about itself. */
export const daemonFindings = {
  not_swept: 'wrong',
  store_away: 'wrong',
  disk_full: 'wrong',
  overcommitted: 'notice',
  disk_low: 'notice',
  shared_away: 'wrong',
  shared_untold: 'wrong',
  policy_diverged: 'wrong',
  host_id_taken: 'wrong',
  shared_store: 'notice',
  shared_store_loses: 'wrong',
  host_clock: 'wrong',
  host_silent: 'notice',
  shared_unwalked: 'wrong',
  shared_twice: 'wrong',
  source_stale: 'wrong',
  forge_away: 'wrong',
  forge_rows_gone: 'wrong',
  forge_owner_refused: 'wrong',
  forge_row_odd: 'wrong',
  forge_owners_absent: 'notice',
  forge_unowned: 'notice',
  unpublished: 'wrong',
  unmanaged_push: 'wrong',
  unasked_limit: 'notice',
  worker_missing: 'wrong',
  broken_pushes: 'notice',
  other_git: 'notice',
  long_push: 'notice',
  worker_outdated: 'notice',
  garbage: 'notice',
  garbage_failing: 'wrong',
  repository_unguarded: 'wrong',
  notices_dead: 'notice',
  root_away: 'wrong',
  root_unused: 'notice',
  disk_hangs: 'wrong',
  no_storage: 'wrong',
  secret_lost: 'wrong',
  keys_missing: 'wrong',
  config_changed: 'wrong',
  restart_needed: 'wrong',
  unread: 'wrong',
  link: 'wrong',
  unit_fault: 'wrong',
  unmeasured: 'wrong',
  leftover: 'notice',
  same_owner: 'notice',
  perhaps_renamed: 'notice',
  policy_fault: 'notice',
} as const satisfies Readonly<Record<string, Finding['severity']>>;

/** Further findings of doctor. */
export const doctorFindings = {
  config: 'wrong',
  config_note: 'notice',
  exposed: 'wrong',
  not_looked: 'notice',
  daemon_away: 'wrong',
  gate_blocked: 'wrong',
  not_enforced: 'notice',
  hook: 'wrong',
  hook_blocked: 'wrong',
  hook_previous_skipped: 'notice',
  hook_unreached: 'wrong',
  inner_repository: 'wrong',
  unknown_repository: 'wrong',
  unmanaged_repository: 'notice',
  gc_failing: 'wrong',
  gc_missing: 'notice',
  signed_pushes: 'notice',
  program_missing: 'wrong',
  git_config: 'wrong',
  named_missing: 'wrong',
} as const satisfies Readonly<Record<string, Finding['severity']>>;

/** Findings of one kind that are listed: thousands with one cause would hide all others. */
const mostTold = 20;

/** Makes findings of the first items, and one that counts the others. */
export function listed<Item>({ first, count }: Listed<Item>, tell: (item: Item) => Finding): Finding[] {
  const told = first.slice(0, mostTold).map(tell);
  const last = told.at(-1);
  if (last === undefined || count <= told.length) return told;
  const message = `… and ${count - told.length} more like these`;
  return [...told, { ...last, message, mend: 'fix these first; then the next ones are listed' }];
}

const catalog = { ...daemonFindings, ...doctorFindings };

/** `message` is one line, harmless on a terminal; `mend` is a fix that can be followed as it is. */
export function makeFinding(code: keyof typeof catalog, message: string, mend: string): Finding {
  return { code, severity: catalog[code], message, mend };
}

export function unfollowedLink(path: string): Finding {
  const message = `${printable(path)}: a symbolic link that is not followed, so what lies behind it does not count`;
  const mend = `see where it leads: ${commandLine('ls', '-ld', path)}; move the data here, or name the directory above it in [storage] FOLLOW; then: softquota scan`;
  return makeFinding('link', message, mend);
}

/** Quotes the words as one line for sh, harmless on a terminal. */
export function commandLine(...words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

/**
 * Quotes one word for sh. A word that could mislead a reader is written as bytes for `printf`, except
 * newlines at its end, which sh would drop from the output of `printf`.
 */
export function quoted(word: string): string {
  if (printable(word) === word) return shellQuoted(word);
  let end = word.length;
  while (word[end - 1] === '\n') end--;
  const bytes = [...Buffer.from(encodePath(word.slice(0, end)))].map(octal);
  return `"$(printf '${bytes.join('')}')${word.slice(end)}"`;
}

/** Writes a byte for `printf`; letters, digits and some signs stay as they are. */
function octal(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w./]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
}
