/** Signed pushes: git stores the certificate of each, before any hook can refuse it. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { homeOf } from '../accounts.ts';
import { systemCode } from '../errors.ts';
import { configSetting, type RepositoryStatus } from '../git/index.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { HostContext } from './installation.ts';
import { asUser } from './mend.ts';
import type { Repository } from './repositories.ts';

const key = 'receive.certNonceSeed';

/** In the repositories' own configuration, in that of the users they belong to, and in the system's. */
export async function checkSignedPushes(
  context: HostContext,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
): Promise<CheckResult> {
  const findings: Finding[] = [];
  const missed: string[] = [];
  for (const [index, { path, user }] of repositories.entries()) {
    const status = statuses[index];
    if (status === undefined || 'fault' in status || !status.signedPushes) continue;
    findings.push(signed(`${path}/config`, unset(context, user.uid, `${path}/config`)));
  }
  for (const user of new Map(repositories.map(one => [one.user.uid, one.user])).values()) {
    const { uid } = user;
    const home = homeOf(uid);
    if (home === null) continue;
    for (const file of [join(home, '.gitconfig'), join(home, '.config/git/config')]) {
      const is = lookedAt(file);
      if (is === 'denied') missed.push(printable(file));
      if (is !== 'file' || (await configSetting({ file, owner: user }, key)) === null) continue;
      findings.push(signed(file, unset(context, uid, file)));
    }
  }
  if (repositories.length > 0 && (await configSetting('system', key)) !== null) {
    const mend = commandLine('git', 'config', '--system', '--unset-all', key);
    findings.push(signed("the system's configuration", mend));
  }
  return { findings, missed };
}

function signed(from: string, mend: string): Finding {
  const message = `${printable(from)} offers signed pushes to clients (${key}): the certificate of a push is kept even if the push is refused`;
  return makeFinding('signed_pushes', message, mend);
}

function unset(context: HostContext, uid: number, file: string): string {
  return asUser(context, uid, 'git', 'config', '--file', file, '--unset-all', key);
}

function lookedAt(path: string): 'file' | 'none' | 'denied' {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ? 'file' : 'none';
  } catch (error) {
    if (systemCode(error) === 'EACCES') return 'denied';
    throw error;
  }
}
