/** Why something did not work, in words for the administrator. */

import { SoftquotaError } from '../../errors.ts';
import { DiskHangs } from '../../layout/index.ts';
import { systemWords } from '../../system-words.ts';

/** The words for a fault of ours or the system's; anything else is a mistake of ours and is thrown on. */
export function reasonOf(error: unknown): string {
  if (error instanceof SoftquotaError) return error.message;
  if (error instanceof DiskHangs) return 'the disk does not answer';
  const words = systemWords(error);
  if (words === null) throw error;
  return words;
}
