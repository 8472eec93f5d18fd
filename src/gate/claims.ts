/**
 * `/v1/claims`: applies the claims of a provider about a user, sent by a forge's sign-in, an SSO proxy or a
 * job.
 */

import { JsonFault, readJson } from '../bounded/index.ts';
import { badParameter } from '../errors.ts';
import type { Claims } from '../oauth/index.ts';
import { nameFault } from '../quota/index.ts';
import { printable } from '../text.ts';
import { type Parameters, type Reply, replyWith, required } from './request.ts';
import type { GateServices } from './services.ts';

/** Limit of JSON values: enough for all groups and the other fields of an ID token. */
const mostValues = 50_000;

export const claimsNested = { names: new Set(['claims', 'try']), mostValues } as const;

/** Enough for ten thousand groups; parsing more would delay other requests. */
export const longestClaimsBytes = 1024 * 1024;

export async function claims(services: GateServices, parameters: Parameters): Promise<Reply> {
  const user = required(parameters, 'user');
  const fault = nameFault(user);
  if (fault !== null) throw badParameter(`user is not a valid name: ${fault}`);
  const source = required(parameters, 'source');
  const isTrial = trialIn(parameters.get('try') ?? '');
  const done = await services.synchronize({ user, source, claims: claimsIn(parameters), isTrial });
  const { outcome, groups, added, removed, skipped, ignored } = done;
  const json = { groups, added, removed, outcome, skipped, ignored };
  return replyWith(200, json, `${printable(groups.join(', '))}\n`);
}

/** Parses the claims: a JSON object, or its text in a form. */
function claimsIn(parameters: Parameters): Claims {
  const text = required(parameters, 'claims');
  const expected = 'where a JSON object is expected, such as the payload of an ID token';
  let found: unknown;
  try {
    found = readJson(text, mostValues);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw badParameter(`claims is not valid JSON: ${error.message}, ${expected}`);
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw badParameter(`claims is something else, ${expected}`);
  }
  // Code that reads a claim checks its type.
  return found as Claims;
}

function trialIn(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false' || text === '') return false;
  throw badParameter('try is not true or false');
}
