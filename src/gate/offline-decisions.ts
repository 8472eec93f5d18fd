/**
 * `/v1/offline-decisions`: a hook reports what it decided while the daemon did not answer.
 *
 * Everybody who may connect can send such a report, and everybody who can write a repository can make its hook
 * send one. So the gate only records it: no decision and no figure depends on it.
 */

import { SoftquotaError } from '../errors.ts';
import { nameFault } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import type { Reply } from './answer.ts';
import { pathIn, required } from './parameters.ts';
import { existing } from './reports.ts';
import type { Parameters } from './request.ts';
import type { GateServices, OfflineDecision } from './services.ts';

/** The time to the second, the decision, why the daemon was not asked, and the actor, separated by tabs. */
const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\t(let through|refused)\t([ -~]{1,80})\t([^\t]*)$/;

/** A hook keeps about this many lines; further lines are only counted. */
const mostLines = 100;

/** Records the well-formed lines; the answer has the number of these and of all others. */
export async function recordOfflineDecisions(services: GateServices, parameters: Parameters): Promise<Reply> {
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
  if (!services.recordOfflineDecisions({ unit, decisions, ...counts })) {
    throw new SoftquotaError(
      'too_often',
      `decisions about ${printable(unit)} were reported a moment ago; report them later`,
    );
  }
  const { length: taken } = decisions;
  return {
    status: 202,
    json: () => ({ taken, not_understood: counts.notUnderstood, passed_over: counts.passedOver }),
    text: () => `${taken} of ${lines.length} lines taken\n`,
  };
}

function decisionIn(line: string): OfflineDecision | null {
  const [, time = '', decision, reason = '', actor = ''] = form.exec(line) ?? [];
  const at = Date.parse(time);
  if (Number.isNaN(at) || (actor !== '' && nameFault(actor) !== null)) return null;
  return { at, allowed: decision === 'let through', reason, actor };
}
