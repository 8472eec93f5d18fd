/** Checks what repositories tell their hooks, where no hook.conf tells it for all of them. */

import { defaultSocket, type RepositoryStatus } from '../git/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';
import { type SettingName, settingFault, settingNames } from './hook-setting.ts';
import type { Installation } from './installation.ts';
import { asUser, softquota } from './mend.ts';
import { isSamePath } from './paths.ts';
import type { Repository } from './repositories.ts';

const mostNamed = 10;

/** Only of repositories whose hooks ask at all, which are `well`. */
export function checkSettings(
  { loaded, context }: Installation,
  repositories: readonly Repository[],
  statuses: readonly RepositoryStatus[],
  well: ReadonlySet<string>,
): CheckResult {
  const { socket } = loaded.config.server;
  const faults: Finding[] = [];
  const elsewhere: { readonly path: string; readonly asked: string }[] = [];
  for (const [index, { path, user }] of repositories.entries()) {
    const status = statuses[index];
    if (status === undefined || 'fault' in status || !well.has(path)) continue;
    for (const name of settingNames) {
      const value = status.settings[name];
      const fault = value === null ? null : settingFault(name, value);
      if (fault !== null) faults.push(unset(path, user.uid, name, `${value}: ${fault}`));
    }
    const asked = status.settings.socket ?? defaultSocket;
    if (settingFault('socket', asked) === null && !isSamePath(asked, socket)) elsewhere.push({ path, asked });
  }
  return { findings: [...faults, ...sentElsewhere()] };

  function unset(path: string, uid: number, name: SettingName, what: string): Finding {
    const key = `softquota.${name}`;
    const message = `${printable(path)}: ${key} = ${printable(what)}; its hooks use the default`;
    const mend = asUser(context, uid, 'git', 'config', '--file', `${path}/config`, '--unset-all', key);
    // Without a socket of its own it would ask at the default one.
    const again = name === 'socket' ? ` && ${softquota(context, 'hooks install', path)}` : '';
    return findingOf('repository_setting', message, mend + again);
  }

  function sentElsewhere(): Finding[] {
    const [first] = elsewhere;
    if (first === undefined) return [];
    const others = elsewhere.length === 1 ? '' : ` (and ${elsewhere.length - 1} more)`;
    const message = `${printable(first.path)}: its hooks ask at ${printable(first.asked)}, but the daemon listens at ${printable(socket)}${others}`;
    const places = elsewhere.slice(0, mostNamed).map(({ path }) => path);
    return [findingOf('repository_socket', message, softquota(context, 'hooks install', ...places))];
  }
}
