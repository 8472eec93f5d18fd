/** Texts for errors of the operating system. Separate from errors.ts, which the browser loads, too. */

import { getSystemErrorMessage } from 'node:util';
import { systemCode } from './errors.ts';

/** The text for a thrown value, such as `no space left on device (ENOSPC)`; null if it is no system error. */
export function systemWords(error: unknown): string | null {
  const code = systemCode(error);
  if (code === null) return null;
  const number = error instanceof Error && 'errno' in error ? error.errno : null;
  const words = typeof number === 'number' ? getSystemErrorMessage(number) : undefined;
  return words === undefined ? code : `${words} (${code})`;
}
