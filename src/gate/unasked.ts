/**
 * `/v1/unasked`: what a hook decided while nobody could be asked, told at its next contact.
 *
 * Everybody who may connect can say this, and everybody who can write a repository can make its hook say it.
 * So it is put on record and nothing else: no decision and no figure depends on it.
 */

import { SoftquotaError } from '../errors.ts';
import { nameFault } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import type { Reply } from './answer.ts';
import { pathIn, required } from './parameters.ts';
import { existing } from './reports.ts';
import type { Parameters } from './request.ts';
import type { GateServices, UnaskedDecision } from './services.ts';

/** A time by the second, what was decided, why nobody was asked, and who acted, with tabs between. */
const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\t(let through|refused)\t([ -~]{1,80})\t([^\t]*)$/;

/** A hook keeps about as many; what a stranger says beyond is counted. */
const mostLines = 100;

/** Takes the lines that are well-formed, and says how many there were, and how many others. */
export async function unasked(services: GateServices, parameters: Parameters): Promise<Reply> {
  const path = pathIn(required(parameters, 'path'));
  const lines = required(parameters, 'lines')
    .split('\n')
    .filter(line => line !== '');
  const unit = await existing(services, path);
  const looked = lines.slice(0, mostLines);
  const decisions = looked.map(decisionIn).filter(decision => decision !== null);
  const counts = {
    notUnderstood: looked.length - decisions.length,
    passedOver: lines.length - looked.length,
  };
  if (!services.unasked({ unit, decisions, ...counts })) {
    throw new SoftquotaError(
      'too_often',
      `decisions about ${printable(unit)} were told just now; tell them later`,
    );
  }
  const { length: taken } = decisions;
  return {
    status: 202,
    json: () => ({ taken, not_understood: counts.notUnderstood, passed_over: counts.passedOver }),
    text: () => `${taken} of ${lines.length} lines taken\n`,
  };
}

function decisionIn(line: string): UnaskedDecision | null {
  const [, time = '', decision, reason = '', actor = ''] = form.exec(line) ?? [];
  const at = Date.parse(time);
  if (Number.isNaN(at) || (actor !== '' && nameFault(actor) !== null)) return null;
  return { at, allowed: decision === 'let through', reason, actor };
}
