/** The package as it is published. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { z } from 'zod';
import { temporaryFolder } from '../temporary-folder.ts';
import { must, plainEnvironment } from './run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const manifest = z.looseObject({ name: z.string(), version: z.string() });

/** Packs this checkout; gives the path of the tarball, which is there until the test ends. */
export async function packed(t: Test): Promise<string> {
  const folder = temporaryFolder(t);
  const about: unknown = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'));
  const { name, version } = manifest.parse(about);
  // Without what the tests' runner puts into every Node's environment.
  const clean = ['-i', `PATH=${plainEnvironment.PATH}`, `HOME=${folder}`];
  const pack = ['npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  await must('env', [...clean, ...pack], { cwd: checkout });
  return join(folder, `${name}-${version}.tgz`);
}
