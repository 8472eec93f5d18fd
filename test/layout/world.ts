/** Directories to lay templates on. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Test } from 'tap';
import {
  type Discovered,
  discover,
  encodePath,
  type Layout,
  resolveLayout,
  type StorageSettings,
  type Unit,
} from '../../src/layout/index.ts';

/** An empty directory that goes with the test; its physical path. */
export function emptyDirectory(t: Test): string {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'softquota-layout-')));
  // rm goes down trees whose paths are longer than the system takes.
  t.teardown(() => execFileSync('rm', ['-rf', directory]));
  return directory;
}

export function makeDirectory(at: string): string {
  mkdirSync(encodePath(at), { recursive: true });
  return at;
}

export function makeFile(at: string, text = ''): string {
  makeDirectory(path.dirname(at));
  writeFileSync(encodePath(at), text);
  return at;
}

export function makeLink(at: string, target: string): string {
  makeDirectory(path.dirname(at));
  symlinkSync(encodePath(target), encodePath(at));
  return at;
}

/** A directory with what every bare repository has. */
export function makeRepository(at: string): string {
  makeFile(`${at}/HEAD`, 'ref: refs/heads/main\n');
  makeDirectory(`${at}/objects`);
  makeDirectory(`${at}/refs/heads`);
  return at;
}

/** A section's settings: repositories of owners named by the path, unless told otherwise. */
export function storage(
  settings: Partial<StorageSettings> & Pick<StorageSettings, 'templates'>,
): StorageSettings {
  return { kind: 'repos', owner: { by: 'path' }, visibility: 'export-ok', ...settings };
}

export const excluded = ['.snapshot', '.snapshots', '.zfs', 'lost+found'];

export function layoutOf(...storages: readonly StorageSettings[]): Layout {
  return resolveLayout(storages, excluded);
}

/** Yield of `discover`, sorted by path, by type. */
export function discovered(layout: Layout): {
  readonly units: readonly Extract<Discovered, { type: 'unit' }>[];
  readonly unread: readonly { readonly path: string; readonly error: string }[];
  readonly faults: readonly { readonly path: string; readonly what: string }[];
  readonly listed: readonly string[];
} {
  const found = [...discover(layout)].sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
  return {
    units: found.filter(one => one.type === 'unit'),
    unread: found.flatMap(one => (one.type === 'unread' ? [{ path: one.path, error: one.error }] : [])),
    faults: found.flatMap(one => (one.type === 'fault' ? [{ path: one.path, what: one.what }] : [])),
    listed: found.flatMap(one => (one.type === 'listed' ? [one.path] : [])),
  };
}

export function unitsOf(layout: Layout): readonly Unit[] {
  return discovered(layout).units.map(({ unit }) => unit);
}

function pathOf(found: Discovered): string {
  return found.type === 'unit' ? found.unit.path : found.path;
}

/** The units with paths below a directory, as `PATH OWNER KIND`, and `without` the places inside. */
export function shown(at: string, layout: Layout): readonly string[] {
  return discovered(layout).units.map(({ unit, inner }) => {
    const places = inner.map(path => ` without ${path.slice(at.length)}`);
    return `${unit.path.slice(at.length)} ${unit.owner} ${unit.kind}${places.join('')}`;
  });
}

/** `t.match`, for lists: each of the found against its pattern, and none beside. */
export function matchEach(t: Test, found: readonly unknown[], patterns: readonly object[]): void {
  t.match(found, patterns);
  t.equal(found.length, patterns.length, 'as many as expected');
}
