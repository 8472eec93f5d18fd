/** Room for what the daemon keeps. */

import { statfsSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { formatBytes, printable } from '../text/index.ts';
import type { CheckResult } from './check-result.ts';
import type { Installation } from './installation.ts';

const leastBytes = 64 * 1024 * 1024;
const leastFiles = 1000;

export function checkSpace({ loaded }: Installation): CheckResult {
  const { dataPath } = loaded.config.server;
  const shown = printable(dataPath);
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dataPath);
    const free = `${formatBytes(bavail * bsize)} free`;
    // Some file systems make inodes as they need them, and count none.
    if (files > 0 && ffree < leastFiles) {
      const mend = `remove small files on that disk: ${commandLine('df', '-i', dataPath)} shows the inodes`;
      return { findings: [makeFinding('disk_full', `DATA_PATH, ${shown}, has ${ffree} inodes left`, mend)] };
    }
    if (bavail * bsize < leastBytes) {
      const mend = `free space on that disk: ${commandLine('df', '-h', dataPath)} shows the space`;
      return { findings: [makeFinding('disk_full', `DATA_PATH, ${shown}, has ${free}`, mend)] };
    }
    return { findings: [], checked: [`DATA_PATH, ${shown}: ${free}`] };
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    // The daemon makes it; where it cannot, it says so and does not start.
    if (code === 'ENOENT') return { findings: [] };
    return { findings: [], missed: [`DATA_PATH, ${shown} (${code})`] };
  }
}
