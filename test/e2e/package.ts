/** The package as it is published. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { must, plainEnvironment } from './run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const manifest = z.looseObject({ name: z.string(), version: z.string() });

/** Packs this checkout into `folder`; gives the tarball's path. */
export async function packed(folder: string): Promise<string> {
  const about: unknown = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'));
  const { name, version } = manifest.parse(about);
  // Without what the tests' runner puts into every Node's environment.
  const clean = ['-i', `PATH=${plainEnvironment.PATH}`, `HOME=${folder}`];
  const pack = ['npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  await must('env', [...clean, ...pack], { cwd: checkout });
  return join(folder, `${name}-${version}.tgz`);
}
