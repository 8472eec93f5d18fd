/**
 * A clock that is an hour late: all that was changed just now was changed long ago, so that signatures are
 * taken of it.
 */

import { lstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const hourMs = 3_600_000;
const { now } = Date;

Date.now = () => now.call(Date) + hourMs;

/** Comes back once what is changed from now on bears another time than what was changed before. */
export function passTick(directory: string): void {
  const probe = join(directory, 'tick');
  const touched = (): bigint => {
    writeFileSync(probe, 'tick');
    return lstatSync(probe, { bigint: true }).mtimeNs;
  };
  const before = touched();
  while (touched() === before);
}
