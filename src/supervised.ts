/** Names the command that starts this host's daemon: systemd's if it has the unit, else `softquota serve`. */

import { existsSync } from 'node:fs';
import { shellQuoted } from './text.ts';

/** The directories of systemd's units, the administrator's first. */
export const unitFolders = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];

/** The configuration that the systemd unit uses. */
const unitsFile = '/etc/softquota/app.ini';

/** Returns true if systemd runs the daemon with this configuration; null: none, or the default one. */
export function isSupervised(file: string | null): boolean {
  if (file !== null && file !== unitsFile) return false;
  return unitFolders.some(folder => existsSync(`${folder}/softquota.service`));
}

/** The shell command that starts the daemon. `file`: its configuration; null: none, or the default one. */
export function startCommand(file: string | null): string {
  if (isSupervised(file)) return 'systemctl start softquota';
  return file === null ? 'softquota serve' : `softquota serve --config ${shellQuoted(file)}`;
}
