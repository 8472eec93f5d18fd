/** Makes findings by the codes of the catalogs, and shortens long lists of them. */

import type { Finding } from '../wire/index.ts';
import { daemonFindings } from './catalog.ts';
import { doctorFindings } from './doctor-catalog.ts';
import type { Listed } from './observed.ts';

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

const catalog = { ...daemonFindings, ...doctorFindings };

/** `message` is one line, harmless on a terminal; `mend` can be followed as it stands. */
export function makeFinding(code: keyof typeof catalog, message: string, mend: string): Finding {
  return { code, severity: catalog[code].severity, message, mend };
}
