/** Findings in the words of the catalog, and long lists of them. */

import { type DaemonFindingCode, daemonFindings } from './catalog.ts';
import type { Listed } from './observed.ts';

export interface Finding {
  readonly code: string;
  /** `wrong` has to be fixed; a `notice` may be intended. */
  readonly severity: 'wrong' | 'notice';
  /** One line, without control characters. */
  readonly message: string;
  /** A command, if there is one, or a text. */
  readonly mend: string;
}

/** Thousands of findings have one cause, and would hide all others. */
const mostTold = 20;

/** Tells the first ones, and how many there are besides. */
export function listed<Item>({ first, count }: Listed<Item>, tell: (item: Item) => Finding): Finding[] {
  const told = first.slice(0, mostTold).map(tell);
  const last = told.at(-1);
  if (last === undefined || count <= told.length) return told;
  const message = `… and ${count - told.length} more like these`;
  return [...told, { ...last, message, mend: 'fix these first; then the next ones are listed' }];
}

export function makeFinding(code: DaemonFindingCode, message: string, mend: string): Finding {
  return { code, severity: daemonFindings[code].severity, message, mend };
}
