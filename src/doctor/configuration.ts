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
import { commandLine, makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import { modeOf } from './paths.ts';

export function checkFaults(loaded: LoadedConfig | RefusedConfig): CheckResult {
  const notes = loaded.notes.map(note => makeFinding('config_note', printable(note), ''));
  if (loaded.ok) return { findings: notes };
  const faults = loaded.faults.map(fault => makeFinding('config', formatFaults([fault]), mendOf(fault)));
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
  return {
    findings: [...exposedFiles(loaded)],
    checked: [`the configuration${file === null ? '' : ` in ${printable(file)}`}`],
  };
}

function* exposedFiles(loaded: LoadedConfig): Generator<Finding> {
  const { file } = loaded.config;
  const { dataPath } = loaded.config.server;
  for (const path of file === null ? [] : [file, dirname(file)]) {
    if (!isOpen(path)) continue;
    yield makeFinding('exposed', `anybody can write ${printable(path)}`, commandLine('chmod', 'o-w', path));
  }
  for (const path of secretFiles(loaded)) {
    if (((modeOf(path) ?? 0) & readByAll) === 0) continue;
    yield makeFinding('exposed', `anybody can read the secret in ${printable(path)}`, hiding(path, dataPath));
  }
  const key = join(dataPath, 'secret.key');
  if (((modeOf(key) ?? 0) & 0o077) !== 0) {
    const message = `other users than the daemon's can read ${printable(key)}`;
    yield makeFinding('exposed', message, commandLine('chmod', '0600', key));
  }
  if (isOpen(dataPath)) {
    const message = `anybody can write into ${printable(dataPath)}`;
    yield makeFinding('exposed', message, commandLine('chmod', 'o-w', dataPath));
  }
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
