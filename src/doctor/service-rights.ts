/** The units of systemd, and the rights that they give the daemon beyond the modes of files. */

import { existsSync } from 'node:fs';
import { userName } from '../accounts.ts';
import { readBounded } from '../bounded/index.ts';
import type { HookUser } from './rights.ts';

/** The directories of systemd's units, those of the administrator first. */
export const unitFolders = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];
const unit = 'softquota.service';

/**
 * Tells whether the service runs as this user and may read every file, as the unit of the package says. False
 * where there is no such unit, or where a drop-in may say otherwise.
 */
export function serviceReadsAll(user: HookUser, folders: readonly string[] = unitFolders): boolean {
  const folder = folders.find(each => existsSync(`${each}/${unit}`));
  if (folder === undefined || folders.some(each => existsSync(`${each}/${unit}.d`))) return false;
  const found = readBounded(`${folder}/${unit}`, { follow: true });
  if (found.kind !== 'file') return false;
  const text = found.bytes.toString();
  const [, name] = /^User=(.+)$/m.exec(text) ?? [];
  return name === userName(user.uid) && /^AmbientCapabilities=.*\bCAP_DAC_READ_SEARCH\b/m.test(text);
}
