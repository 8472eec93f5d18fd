/** Files, repositories and installations in the folder of one test. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadConfig } from '../../src/config/index.ts';
import type { Installation } from '../../src/doctor/index.ts';

export function write(file: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  return file;
}

/** Makes a repository as far as one who only looks needs it: HEAD, objects and refs. */
export function repositoryAt(path: string): string {
  for (const name of ['objects', 'refs']) mkdirSync(join(path, name), { recursive: true });
  write(join(path, 'HEAD'), 'ref: refs/heads/main\n');
  return path;
}

export function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

export const context = { uid: 0, configOption: null, hookConf: '/nowhere' };

/** An installation with this app.ini in a folder, whose daemon has nothing to say. */
export function installationIn(
  folder: string,
  ini: string,
  differing: Partial<Installation> = {},
): Installation {
  const file = write(join(folder, 'app.ini'), ini);
  const loaded = loadConfig({ file, env: {}, cwd: folder, uid: 0 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const ask = async () => ({ status: 200, json: [] });
  return { loaded, admin: ask, gate: ask, context, ...differing };
}
