/**
 * parallel-disk-usage, the quickest of the programs that walk with several threads. It is measured beside du
 * where `pdu` is installed (`cargo install parallel-disk-usage`).
 */

import { spawnSync } from 'node:child_process';
import { environment, timedProcessor } from './processes.ts';

/** The version; null where it is not installed. */
export const pduVersion: string | null = versionOf('pdu');

function versionOf(program: string): string | null {
  const { status, stdout } = spawnSync(program, ['--version'], { env: environment, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

/** Adds up the sizes below these directories, with so many threads. */
export function timedPdu(
  roots: readonly string[],
  threads: number,
): Promise<{ readonly ms: number; readonly processorMs: number }> {
  return timedProcessor('pdu', ['--max-depth', '1', '--no-sort', '--threads', String(threads), ...roots]);
}
