/** The programs that start the daemon of this host: systemd where it has our unit, else a person. */

import { existsSync } from 'node:fs';
import { shellQuoted } from './text/index.ts';

/** The directories of systemd's units, those of the administrator first. */
export const unitFolders = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];

export function isSupervised(): boolean {
  return unitFolders.some(folder => existsSync(`${folder}/softquota.service`));
}

/** The configuration of our unit's daemon. */
const unitsFile = '/etc/softquota/app.ini';

/** The command that starts the daemon. `file`: its configuration; null: it has none, or the default one. */
export function startCommand(file: string | null): string {
  if (isSupervised() && (file === null || file === unitsFile)) return 'systemctl start softquota';
  return file === null ? 'softquota serve' : `softquota serve --config ${shellQuoted(file)}`;
}
