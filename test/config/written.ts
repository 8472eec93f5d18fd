/** Loads a configuration as it would be written, away from what this host and its user have. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import {
  type Config,
  formatFaults,
  type LoadedConfig,
  loadConfig,
  type RefusedConfig,
  type Where,
} from '../../src/config/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A folder that goes with the test; its path is short, as the sockets in it need it. */
export function folderWith(t: Test, files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryFolder(t);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** The text stands as app.ini in an empty folder, which is the working directory too. */
export function loadText(t: Test, ini: string, env: Where['env'] = {}): LoadedConfig | RefusedConfig {
  const folder = folderWith(t, { 'app.ini': ini });
  return loadConfig({ file: 'app.ini', env, cwd: folder, uid: 1000, systemFile: `${folder}/none` });
}

/** Loads a configuration as `loadText` does; one with faults fails the test. */
export function load(t: Test, ini: string, env: Where['env'] = {}): LoadedConfig {
  const loaded = loadText(t, ini, env);
  if (!loaded.ok) throw new Error(formatFaults(loaded.faults));
  return loaded;
}

export function configOf(t: Test, ini: string, env: Where['env'] = {}): Config {
  return load(t, ini, env).config;
}

/** The faults as they are shown, line by line; none if there are none. */
export function faultsOf(t: Test, ini: string, env: Where['env'] = {}): readonly string[] {
  const loaded = loadText(t, ini, env);
  return loaded.ok ? [] : formatFaults(loaded.faults).split('\n');
}
