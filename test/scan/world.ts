/** Trees on the disk, an independent count of them, and a scanner with a book that keeps what it reports. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { StorageSettings, Unit } from '../../src/layout/index.ts';
import {
  createScanner,
  type Figures,
  type Measurement,
  type Scanner,
  type ScannerOptions,
  type Sweep,
} from '../../src/scan/index.ts';
import { Cache } from '../../src/scan/signature.ts';
import type { Walked, WalkRequest } from '../../src/scan/task.ts';
import { walk } from '../../src/scan/walk.ts';

export function temporary(t: Test): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'softquota-scan-')));
  // Not rmSync: it takes seconds for 10,000 nested directories.
  t.teardown(() => execFileSync('rm', ['-rf', path]));
  return path;
}

/** Writes a file of this many bytes, with the directories that lead to it. */
export function fill(path: string, bytes: number): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, Buffer.alloc(bytes, 'x'));
}

/** Counts every regular file once, by `find`. A file may go meanwhile, such as at a garbage collection. */
export function independentCount(path: string, ...expression: string[]): { bytes: number; files: number } {
  const args = [path, '-ignore_readdir_race', ...expression, '-type', 'f', '-printf', '%D:%i %s\n'];
  const found = execFileSync('find', args, { maxBuffer: 2 ** 30 });
  const sizes = new Map(
    found
      .toString()
      .split('\n')
      .filter(line => line !== '')
      .map(line => {
        const [file = '', size = ''] = line.split(' ');
        return [file, BigInt(size)];
      }),
  );
  return { bytes: Number([...sizes.values()].reduce((sum, size) => sum + size, 0n)), files: sizes.size };
}

export function unitAt(path: string, kind: Unit['kind'] = 'lfs'): Unit {
  return { path, kind, owner: 'alice', leaf: kind === 'repos' ? 'size:repos:private' : 'size:git:lfs' };
}

/** A request to walk a unit that is not known. */
export function walkRequest(unit: Unit, given: Partial<WalkRequest> = {}): WalkRequest {
  return { unit, inner: [], exclude: new Set(), measure: 'apparent', knownBytes: null, ...given };
}

/** Walks a unit that is there, without a cache. */
export function walked(unit: Unit, given: Partial<WalkRequest> = {}, pulse = () => {}): Walked {
  const found = walk(walkRequest(unit, given), new Cache(null), pulse);
  if (found === null) throw new Error('the unit has gone');
  return found;
}

/** Makes a directory that looks like a bare repository to the layout. */
export function bareRepository(path: string, bytes = 0): void {
  for (const name of ['objects/pack', 'refs/heads']) mkdirSync(join(path, name), { recursive: true });
  writeFileSync(join(path, 'HEAD'), 'ref: refs/heads/main\n');
  if (bytes > 0) fill(join(path, 'objects/12/34'), bytes);
}

export function storage(kind: StorageSettings['kind'], ...templates: string[]): StorageSettings {
  return { kind, templates, owner: { by: 'path' }, visibility: 'export-ok' };
}

/** Reports of a scanner, newest by the order of numbers. */
export class Book implements Figures {
  readonly units = new Map<string, Extract<Measurement, { unit: unknown }>>();
  readonly roots = new Map<string, NonNullable<ReturnType<Figures['rootRecord']>>>();
  readonly sweeps: Sweep[] = [];
  /** Every report of bytes, in order. */
  readonly reported: { readonly path: string; readonly bytes: number }[] = [];
  readonly warnings: string[] = [];
  readonly #heard = new Map<string, PromiseWithResolvers<void>>();
  #seq = 0;

  readonly pushes = {
    listed: () => [],
    walked: () => ({ takenBytes: 0, hasEnded: false, isUnsure: false }),
  };

  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  knownBytes(path: string): number | undefined {
    return this.bytes(path);
  }

  knownBelow(path: string): readonly string[] {
    return [...this.units.keys()].filter(known => path === '/' || `${known}/`.startsWith(`${path}/`));
  }

  missesKeys(): boolean {
    return false;
  }

  rootRecord(path: string): ReturnType<Figures['rootRecord']> {
    return this.roots.get(path);
  }

  ownerKeyOf({ owner }: Unit): string | null {
    return owner?.toLowerCase() ?? null;
  }

  report(measurement: Measurement): void {
    if (measurement.gone !== undefined) {
      const known = this.units.get(measurement.gone);
      if (known !== undefined && known.seq < measurement.seq) this.units.delete(measurement.gone);
      return;
    }
    const { path } = measurement.unit;
    const known = this.units.get(path);
    if (known !== undefined && known.seq > measurement.seq) return;
    this.reported.push({ path, bytes: measurement.bytes });
    this.units.set(path, measurement);
  }

  swept(sweep: Sweep): void {
    this.sweeps.push(sweep);
    for (const [path, { seq }] of this.units) {
      if (seq < sweep.startSeq && sweep.standing(path) === 'gone') this.units.delete(path);
    }
    for (const root of sweep.roots) if (root.away === null) this.roots.set(root.path, root);
  }

  /** Resolves once the log has said this, if only earlier. */
  says(message: string): Promise<void> {
    return this.#hearing(message).promise;
  }

  #hearing(message: string): PromiseWithResolvers<void> {
    const heard = this.#heard.get(message) ?? Promise.withResolvers<void>();
    this.#heard.set(message, heard);
    return heard;
  }

  bytes(path: string): number | undefined {
    return this.units.get(path)?.bytes;
  }

  options(given: Pick<ScannerOptions, 'storages' | 'cacheFile'> & Partial<ScannerOptions>): ScannerOptions {
    const keep = (_: object, message: string): void => {
      this.warnings.push(message);
      this.#hearing(message).resolve();
    };
    const hear = (_: object, message: string): void => this.#hearing(message).resolve();
    return {
      exclude: ['.snapshot'],
      measure: 'apparent',
      workers: 2,
      figures: this,
      log: { info: hear, warn: keep, error: keep },
      ...given,
    };
  }
}

/** A scanner of these storages with its book. */
export function scanning(
  t: Test,
  storages: readonly StorageSettings[],
  given: Partial<ScannerOptions> = {},
): { scanner: Scanner; book: Book } {
  const book = new Book();
  const scanner = createScanner(
    book.options({ storages, cacheFile: join(temporary(t), 'scan.db'), ...given }),
  );
  t.teardown(() => scanner.close());
  return { scanner, book };
}

/** Makes a sweep, and returns it once it is over. */
export async function swept(
  scanner: Scanner,
  request: Parameters<Scanner['sweep']>[0] = { kind: 'sweep' },
): Promise<ReturnType<Scanner['sweep']>> {
  const run = scanner.sweep(request);
  await run.done;
  return run;
}
