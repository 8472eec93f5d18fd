/** Tells whether gc runs in repositories: without it nothing that was deleted ever frees space. */

import { existsSync, readdirSync } from 'node:fs';
import { makeFinding } from '../health/index.ts';
import { encodePath } from '../layout/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { HostContext } from './installation.ts';
import { asUser } from './mend.ts';
import type { Repository } from './repositories.ts';

/**
 * git's own thresholds, gc.auto and gc.autoPackLimit, and its way to estimate: a look at one of 256
 * directories.
 */
const mostLoose = 6700;
const mostPacks = 50;
const sampled = 'objects/17';

export function checkGc(context: HostContext, repositories: readonly Repository[]): CheckResult {
  return {
    findings: repositories.flatMap(repository => found(context, repository)),
    checked: ['their gc'],
  };
}

function found(context: HostContext, { path, user }: Repository): Finding[] {
  const collect = asUser(context, user.uid, 'git', '-C', path, 'gc', '--quiet');
  if (existsSync(encodePath(`${path}/gc.log`))) {
    const message = `${printable(path)}: the last automatic gc failed (gc.log says why), and git runs no other until the error is fixed`;
    return [makeFinding('gc_failing', message, collect)];
  }
  const loose = namesIn(`${path}/${sampled}`, /^[0-9a-f]+$/) * 256;
  if (loose > mostLoose) {
    const message = `${printable(path)}: about ${loose.toLocaleString('en-US')} loose objects`;
    return [makeFinding('gc_missing', message, collect)];
  }
  const packs = namesIn(`${path}/objects/pack`, /\.pack$/) - namesIn(`${path}/objects/pack`, /\.keep$/);
  if (packs > mostPacks) {
    return [makeFinding('gc_missing', `${printable(path)}: ${packs} packs`, collect)];
  }
  return [];
}

/** Number of names in a directory that match; 0 if it cannot be read. */
function namesIn(path: string, pattern: RegExp): number {
  try {
    return readdirSync(encodePath(path), { encoding: 'latin1' }).filter(name => pattern.test(name)).length;
  } catch {
    return 0;
  }
}
