/**
 * Writes each file of the bundle also compressed, beside it, so that the daemon compresses nothing: `.br` and `.gz`.
 * Not the page itself, into which the daemon puts where it lies.
 */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

export function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    async writeBundle({ dir }) {
      if (dir === undefined) return;
      const names = await readdir(dir, { recursive: true });
      await Promise.all(
        names.filter(name => /\.(css|js|svg|txt)$/.test(name)).map(name => compress(join(dir, name))),
      );
    },
  };
}

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file);
  await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, brotliOptions));
  await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }));
}
