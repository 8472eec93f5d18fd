/** Words for the system's errors. Apart from errors.ts, which the browser loads as well. */

import { getSystemErrorMessage } from 'node:util';
import { systemCode } from './errors.ts';

/** The system's words for a thrown value: `no space left on device (ENOSPC)`; null: it is none of its own. */
export function systemWords(error: unknown): string | null {
  const code = systemCode(error);
  if (code === null) return null;
  const number = error instanceof Error && 'errno' in error ? error.errno : null;
  const words = typeof number === 'number' ? getSystemErrorMessage(number) : undefined;
  return words === undefined ? code : `${words} (${code})`;
}
