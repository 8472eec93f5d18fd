/**
 * The sockets: whether anybody could put one in their place, and who may use those that are not for
 * everybody.
 */

import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { commandLine, makeFinding } from '../health/index.ts';
import { exposureOf } from '../service/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { Installation } from './installation.ts';
import { setKey } from './mend.ts';
import { modeOf } from './paths.ts';

const useByAll = 0o002;
const useByOthers = 0o022;

export function checkSockets(installation: Installation): CheckResult {
  const { trustedSocket, adminSocket } = installation.loaded.config.server;
  return {
    findings: [...exposed(installation), ...trusted(installation, trustedSocket), ...admin(adminSocket)],
    checked: ['the directories and permissions of the sockets'],
  };
}

function trusted(installation: Installation, path: string): Finding[] {
  const mode = modeOf(path);
  if (mode === null || (mode & useByAll) === 0 || !isReached(path)) return [];
  const configured = installation.loaded.config.server.trustedMode;
  const mend =
    (configured & useByAll) === 0
      ? commandLine('chmod', octal(configured), path)
      : setKey(installation, 'server', 'TRUSTED_MODE', octal(configured & 0o660), 'restart');
  return [makeFinding('exposed', `anybody can use TRUSTED_SOCKET, ${told(path, mode)}`, mend)];
}

function admin(path: string): Finding[] {
  const mode = modeOf(path);
  if (mode === null || (mode & useByOthers) === 0) return [];
  const message = `other users can use ADMIN_SOCKET, ${told(path, mode)}`;
  return [makeFinding('exposed', message, commandLine('chmod', '0600', path))];
}

/** Finds what the daemon refuses when it makes a socket; one from the service manager it takes as it is. */
function exposed(installation: Installation): Finding[] {
  const { socket, trustedSocket, adminSocket, dataPath } = installation.loaded.config.server;
  // The daemon's user has its data.
  const daemon = statSync(dataPath, { throwIfNoEntry: false })?.uid;
  const paths = { SOCKET: socket, TRUSTED_SOCKET: trustedSocket, ADMIN_SOCKET: adminSocket };
  const told = new Map<string, Finding>();
  for (const [key, path] of Object.entries(paths)) {
    const exposure = exposureOf(path, daemon);
    if (exposure === null || told.has(exposure.words)) continue;
    const { words, directory, isSticky } = exposure;
    const message = `${printable(words)}, and so can replace the socket ${key}, ${printable(path)}`;
    const mend = isSticky
      ? setKey(installation, 'server', key, `/run/softquota/${basename(path)}`, 'restart')
      : commandLine('chmod', 'o-w', directory);
    told.set(words, makeFinding('exposed', message, mend));
  }
  return [...told.values()];
}

/** Tells whether everybody may pass through all the directories above. */
function isReached(path: string): boolean {
  for (let at = dirname(path); at !== '/'; at = dirname(at)) {
    if (((modeOf(at) ?? 0) & 0o001) === 0) return false;
  }
  return true;
}

function told(path: string, mode: number): string {
  return `${printable(path)} (mode ${octal(mode)})`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
