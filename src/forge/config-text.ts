/** The text of a forge's own configuration file. */

import { readBounded } from '../bounded/index.ts';
import { messageOf } from '../errors.ts';
import { printable } from '../text/index.ts';
import { ForgeFault } from './fault.ts';

/** `faultIn` makes the fault of a file that is none, or too large; `mend` helps where it may not be read. */
export function textOfConfig(file: string, faultIn: (what: string) => ForgeFault, mend: string): string {
  try {
    const read = readBounded(file, { follow: true });
    if (read.kind !== 'file') throw faultIn(read.kind === 'absent' ? 'is not there' : 'is not a file');
    if (!read.whole) throw faultIn('is over 1 MiB');
    return read.bytes.toString();
  } catch (error) {
    if (error instanceof ForgeFault) throw error;
    const message = `${printable(file)} cannot be read: ${messageOf(error)}`;
    throw new ForgeFault('rights', message, mend, { cause: error });
  }
}
