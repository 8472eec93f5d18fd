/** Why something did not work, in words for the administrator. */

import { getSystemErrorMessage } from 'node:util';
import { SoftquotaError, systemCode } from '../errors.ts';

/** The words for a fault of ours or the system's; anything else is a mistake of ours and is thrown on. */
export function reasonOf(error: unknown): string {
  if (error instanceof SoftquotaError) return error.message;
  const code = systemCode(error);
  if (code === null) throw error;
  const number = error instanceof Error && 'errno' in error ? error.errno : null;
  const words = typeof number === 'number' ? getSystemErrorMessage(number) : undefined;
  return words === undefined ? code : `${words} (${code})`;
}
