/** A folder for one test, with files in it. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';

export function folderFor(t: Test): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sq-')));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

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
