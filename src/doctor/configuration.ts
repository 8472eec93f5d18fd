/** The configuration: its faults, its notes, and who may read and write the files that it stands in. */

import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { groupName } from '../accounts.ts';
import {
  type ConfigFault,
  formatFaults,
  type LoadedConfig,
  type RefusedConfig,
  sections,
} from '../config/index.ts';
import { commandLine } from '../health/index.ts';
import { printable } from '../text/index.ts';
import { type CheckResult, findingOf } from './check-result.ts';

export function checkFaults(loaded: LoadedConfig | RefusedConfig): CheckResult {
  const notes = loaded.notes.map(note => findingOf('config_note', printable(note), ''));
  if (loaded.ok) return { findings: notes };
  const faults = loaded.faults.map(fault => findingOf('config', formatFaults([fault]), mendOf(fault)));
  return { findings: [...faults, ...notes] };
}

function mendOf({ file, line, section, variable }: ConfigFault): string {
  if (line !== undefined || section !== undefined || variable !== undefined)
    return 'correct this line; softquota serve --check-config shows whether errors are left';
  if (file === undefined) return 'softquota init --config /etc/softquota/app.ini';
  return `find out who may read it, or run doctor as root: ${commandLine('ls', '-l', file)}`;
}

const writeByAll = 0o002;
const readByAll = 0o004;
const sticky = 0o1000;

export function checkConfigFiles(loaded: LoadedConfig): CheckResult {
  const { file } = loaded.config;
  const { dataPath } = loaded.config.server;
  const places = file === null ? [] : [file, dirname(file)];
  return {
    findings: [
      ...places
        .filter(isOpen)
        .map(path =>
          findingOf(
            'config_writable',
            `anybody can write ${printable(path)}`,
            commandLine('chmod', 'o-w', path),
          ),
        ),
      ...[...secretFiles(loaded)]
        .filter(path => ((modeOf(path) ?? 0) & readByAll) !== 0)
        .map(path =>
          findingOf(
            'secret_readable',
            `anybody can read the secret in ${printable(path)}`,
            hiding(path, dataPath),
          ),
        ),
      ...keyFile(join(dataPath, 'secret.key')),
      ...[dataPath]
        .filter(isOpen)
        .map(path =>
          findingOf(
            'data_open',
            `anybody can write into ${printable(path)}`,
            commandLine('chmod', 'o-w', path),
          ),
        ),
    ],
    checked: [`the configuration${file === null ? '' : ` in ${printable(file)}`}`],
  };
}

/** Others may write it, or replace what is in it. */
function isOpen(path: string): boolean {
  const mode = modeOf(path) ?? 0;
  return (mode & writeByAll) !== 0 && (mode & sticky) === 0;
}

/** The files that hold a value which is not to be shown. */
function secretFiles({ given }: LoadedConfig): ReadonlySet<string> {
  const keys = sections.flatMap(section => section.keys);
  const secrets = given.filter(({ section, name, text }) => {
    const key = keys.find(one => one.section === section && one.name === name);
    return text !== '' && key !== undefined && key.show(text) !== text;
  });
  return new Set(secrets.flatMap(({ origin }) => (origin.file === null ? [] : [origin.file])));
}

/** The daemon, to whose group DATA_PATH belongs, has to go on reading the file. */
function hiding(path: string, dataPath: string): string {
  const gid = statSync(dataPath, { throwIfNoEntry: false })?.gid;
  const take = commandLine('chmod', 'o-rwx', path);
  if (gid === undefined || gid === statSync(path).gid) return take;
  return `${commandLine('chgrp', groupName(gid), path)} && ${commandLine('chmod', 'g+r,o-rwx', path)}`;
}

function keyFile(path: string): CheckResult['findings'] {
  if (((modeOf(path) ?? 0) & 0o077) === 0) return [];
  const message = `other users than the daemon's can read ${printable(path)}`;
  return [findingOf('secret_readable', message, commandLine('chmod', '0600', path))];
}

function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o7777;
  } catch {
    return null;
  }
}
