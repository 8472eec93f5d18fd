/** /etc/softquota/hook.conf, where it exists: whether hooks believe it, and what it tells them. */

import { statSync } from 'node:fs';
import { type BoundedFile, readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { defaultSocket, withoutBlanks } from '../git/index.ts';
import { commandLine, quoted } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';
import { type SettingName, settingFault, settingNames } from './hook-setting.ts';
import { isSamePath } from './paths.ts';

/** `socket`: the one that the daemon serves; null where nobody can tell. */
export function checkHookConf(path: string, socket: string | null): CheckResult {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { findings: [] };
  if (!stats.isFile()) {
    const mend = `replace it by a file: ${commandLine('rm', '-rf', path)}`;
    return {
      findings: [findingOf('hook_conf_ignored', `${path} is no regular file, so the hooks ignore it`, mend)],
    };
  }
  const found = disbelieved(path, stats);
  let file: BoundedFile;
  try {
    file = readBounded(path, { follow: true });
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return { findings: found, missed: [`the content of ${path}`] };
  }
  const lines = file.kind === 'file' ? linesOf(file.bytes.toString()) : [];
  return {
    findings: [
      ...found,
      ...lines.flatMap(line => faultIn(path, line)),
      ...(socket === null ? [] : elsewhere(path, lines, socket)),
    ],
    checked: [path],
  };
}

function disbelieved(
  path: string,
  { uid, mode }: { readonly uid: number; readonly mode: number },
): Finding[] {
  const reasons = [
    ...(uid === 0 ? [] : ['root does not own it']),
    ...((mode & 0o022) === 0 ? [] : ['other users than its owner can write it']),
    ...((mode & 0o004) === 0 ? ['not everybody can read it'] : []),
  ];
  if (reasons.length === 0) return [];
  const message = `the hooks ignore ${path}: ${reasons.join(', and ')}`;
  const chown = uid === 0 ? '' : `${commandLine('chown', 'root', path)} && `;
  return [findingOf('hook_conf_ignored', message, `${chown}${commandLine('chmod', '0644', path)}`)];
}

interface Line {
  readonly number: number;
  readonly key: string;
  readonly value: string;
}

/** As the shell splits them: at `=`, blanks and tabs; comments are left out. */
function linesOf(text: string): readonly Line[] {
  return text.split('\n').flatMap((line, index) => {
    const written = withoutBlanks(line);
    const key = /^[^= \t]*/.exec(written)?.[0] ?? '';
    const rest = withoutBlanks(written.slice(key.length));
    const value = rest.startsWith('=') ? withoutBlanks(rest.slice(1)) : rest;
    return line.trim() === '' || key.startsWith('#') ? [] : [{ number: index + 1, key, value }];
  });
}

function nameOf(key: string): SettingName | null {
  return settingNames.find(name => name === key || name.toLowerCase() === key) ?? null;
}

function faultIn(path: string, { number, key, value }: Line): Finding[] {
  const name = nameOf(key);
  const fault =
    name === null
      ? 'expected socket=, onError=, lastFor=, timeout=, judgeTimeout= or client='
      : settingFault(name, value);
  if (fault === null) return [];
  const message = `${path}:${number}: ${printable(`${key}=${value}`)}: ${fault}; the hooks use the default`;
  return [findingOf('hook_conf_setting', message, commandLine('sed', '-i', `${number}d`, path))];
}

/** Takes the last of several lines. */
function elsewhere(path: string, lines: readonly Line[], socket: string): Finding[] {
  const line = lines.findLast(({ key, value }) => key === 'socket' && settingFault('socket', value) === null);
  const asked = line?.value ?? defaultSocket;
  if (isSamePath(asked, socket)) return [];
  const message = `${path} makes the hooks ask at ${printable(asked)}, but the daemon listens at ${printable(socket)}`;
  const drop = line === undefined ? '' : `${commandLine('sed', '-i', `${line.number}d`, path)} && `;
  return [findingOf('hook_conf_socket', message, `${drop}echo socket=${quoted(socket)} >>${quoted(path)}`)];
}
