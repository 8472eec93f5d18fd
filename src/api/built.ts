/**
 * The web UI as it was built, in memory: what a request asks for is only ever looked up among the names that
 * were found, so that no address becomes a path.
 */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemCode } from '../errors.ts';
import { packageDirectory } from '../package.ts';

/** Folder that `npm run build` writes. */
export const builtFolder = fileURLToPath(new URL('dist/web', packageDirectory));

export interface BuiltFile {
  readonly bytes: Buffer;
  /** Compressed content; null if there is none. */
  readonly br: Buffer | null;
  readonly gzip: Buffer | null;
}

interface BuiltFiles {
  /** The page, without a word of where it lies. */
  readonly page: string;
  /** All others by their paths, from a slash on. */
  readonly files: ReadonlyMap<string, BuiltFile>;
}

const pageName = 'index.html';

export class Built {
  readonly #folder: string;
  #read: { readonly identity: string; readonly files: Promise<BuiltFiles> } | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The UI as it is built now: it is read again after each build. Null: it was not built. */
  async files(): Promise<BuiltFiles | null> {
    try {
      const { ino, mtimeNs } = await stat(join(this.#folder, pageName), { bigint: true });
      const identity = `${ino} ${mtimeNs}`;
      if (this.#read?.identity !== identity) this.#read = { identity, files: readAll(this.#folder) };
      return await this.#read.files;
    } catch (error) {
      this.#read = null;
      if (systemCode(error) === 'ENOENT') return null;
      throw error;
    }
  }
}

async function readAll(folder: string): Promise<BuiltFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  const read = new Map<string, Buffer>();
  for (const path of paths) {
    read.set(`/${relative(folder, path).replaceAll(sep, '/')}`, await readFile(path));
  }
  const files = new Map<string, BuiltFile>();
  for (const [path, bytes] of read) {
    if (path === `/${pageName}` || /\.(br|gz)$/.test(path)) continue;
    files.set(path, { bytes, br: read.get(`${path}.br`) ?? null, gzip: read.get(`${path}.gz`) ?? null });
  }
  return { page: String(read.get(`/${pageName}`)), files };
}
