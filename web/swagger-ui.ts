/**
 * Copies what the page /api/swagger needs of Swagger UI beside the web UI, with its licenses: the package itself is not
 * needed where softquota runs, and neither is what it brings along.
 */

import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

// Where it lies is all that is needed: what the package exports would run the whole page here.
const source = fileURLToPath(new URL('.', import.meta.resolve('swagger-ui-dist/package.json')));

const files = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'favicon-32x32.png',
  'LICENSE',
  'NOTICE',
  'swagger-ui-bundle.js.LICENSE.txt',
];

export function swaggerUi(): Plugin {
  return {
    name: 'swagger-ui',
    apply: 'build',
    async writeBundle({ dir }) {
      if (dir === undefined) return;
      const folder = join(dir, '../swagger');
      await mkdir(folder, { recursive: true });
      await Promise.all(files.map(name => cp(join(source, name), join(folder, name))));
    },
  };
}
