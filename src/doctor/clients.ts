/** The programs by which hooks ask the gate: there, and still what installation found them to be. */

import {
  clientFault,
  type HookConf,
  isClient,
  type QuickClient,
  type RepositoryStatus,
} from '../git/index.ts';
import { commandLine } from '../health/index.ts';
import type { Finding } from '../wire/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';
import type { HostContext } from './installation.ts';
import { softquota } from './mend.ts';
import type { Repository } from './repositories.ts';

const mostNamed = 10;

/** Only of repositories whose hooks ask at all, which are `well`. */
export async function checkClients(
  context: HostContext,
  hookConf: HookConf | null,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
  well: ReadonlySet<string>,
  faultOf: (client: QuickClient) => Promise<string | null> = clientFault,
): Promise<CheckResult> {
  const shared = hookConf?.believed === true ? hookConf : null;
  const users = new Map<string, string[]>();
  for (const [index, { path }] of repositories.entries()) {
    const status = statuses[index];
    if (status === undefined || 'fault' in status || !well.has(path)) continue;
    const client = (shared ?? status.settings).client ?? 'curl';
    users.set(client, [...(users.get(client) ?? []), path]);
  }
  // The others are faults of the settings, and of the host's programs.
  const known = [...users].flatMap(([client, paths]) => (isClient(client) ? [{ client, paths }] : []));
  const found = await Promise.all(
    known.map(async ({ client, paths }): Promise<readonly Finding[]> => {
      const fault = client === 'curl' ? null : await faultOf(client);
      if (fault === null) return [];
      const message = `the hooks are set to ask by ${client}, cannot, and ask by curl, which takes longer: ${fault}`;
      const mend =
        shared === null
          ? softquota(context, 'hooks install', ...paths.slice(0, mostNamed))
          : commandLine('sed', '-i', '/^[[:blank:]]*client[[:blank:]]*=/d', context.hookConf);
      return [findingOf('hook_client', message, mend)];
    }),
  );
  const names = known.map(({ client }) => client).sort();
  return {
    findings: found.flat(),
    checked: names.length === 0 ? [] : [`the hooks ask by ${names.join(' and ')}`],
  };
}
