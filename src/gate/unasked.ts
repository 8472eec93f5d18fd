/**
 * `/v1/unasked`: what a hook decided while nobody could be asked, told at its next contact.
 *
 * Whoever may connect can say this, and whoever can write a repository can make its hook say it. So it is put on
 * record and nothing else: no decision and no figure depends on it.
 */

import { nameFault } from '../quota/index.ts';
import type { Reply } from './answer.ts';
import { pathIn, required } from './parameters.ts';
import { existing } from './reports.ts';
import type { Parameters } from './request.ts';
import type { GateServices, UnaskedDecision } from './services.ts';

/** A time by the second, what was decided, why nobody was asked, and who acted, with tabs between. */
const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\t(let through|refused)\t([ -~]{1,80})\t([^\t]*)$/;

/** Takes the lines that are well-formed, and says how many there were, and how many others. */
export async function unasked(services: GateServices, parameters: Parameters): Promise<Reply> {
  const path = pathIn(required(parameters, 'path'));
  const lines = required(parameters, 'lines')
    .split('\n')
    .filter(line => line !== '');
  const unit = await existing(services, path);
  const found = lines.map(decisionIn).filter(decision => decision !== null);
  for (const decision of found) services.unasked({ unit, ...decision });
  const counts = { taken: found.length, notUnderstood: lines.length - found.length };
  return { status: 202, json: () => counts, text: () => `${counts.taken} of ${lines.length} lines taken\n` };
}

function decisionIn(line: string): Omit<UnaskedDecision, 'unit'> | null {
  const [, time = '', decision, reason = '', actor = ''] = form.exec(line) ?? [];
  const at = Date.parse(time);
  if (Number.isNaN(at) || (actor !== '' && nameFault(actor) !== null)) return null;
  return { at, allowed: decision === 'let through', reason, actor };
}
