/** `/v1/quota`: what an owner stores and may store, as owners are shown it. */

import { SoftquotaError } from '../errors.ts';
import { refusal, standing } from '../quota/index.ts';
import { formatBytes, printable } from '../text/index.ts';
import type { Reply } from './answer.ts';
import { askedOwnerIn } from './parameters.ts';
import type { Parameters } from './request.ts';
import type { GateServices } from './services.ts';

/** Throws `not_found` where nobody has the name. */
export function ownerQuota({ ledger, myUsage }: GateServices, parameters: Parameters): Reply {
  const asked = askedOwnerIn(parameters, ledger);
  if (ledger.documents.owners.named(asked) === undefined) {
    throw new SoftquotaError('not_found', `no such owner: ${printable(asked)}`);
  }
  const { name, usage } = ledger.ownerUsage(asked);
  const { decision } = ledger.decide(name, 'size:all');
  const { allowed, used, limit } = decision;
  const message = allowed ? standing(name, decision) : refusal(name, 'size:all', decision);
  const total = usage.reduce((sum, bytes) => sum + bytes, 0);
  const page = myUsage();
  const json = { owner: name, allowed, used, limit, total, message, my_usage: page };
  const lines = [
    message,
    ...(used === total ? [] : [`${printable(name)} stores ${formatBytes(total)} in total.`]),
    ...(page === null ? [] : [`My usage: ${page}`]),
  ];
  return { status: 200, json: () => json, text: () => `${lines.join('\n')}\n` };
}
