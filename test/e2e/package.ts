/**
 * The package as it is published, with the packages that it needs inside, so that it installs without a
 * registry.
 */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { must, plainEnvironment } from './run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const manifest = z.looseObject({ name: z.string(), version: z.string(), files: z.array(z.string()) });
const lock = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional(), optional: z.boolean().optional() })),
});

/**
 * Packs this checkout into `folder`; gives the tarball's path. The checkout's own dist/ is neither used nor
 * changed.
 */
export async function packed(folder: string): Promise<string> {
  const place = join(folder, 'package');
  await mkdir(place);
  const json = async (name: string) => JSON.parse(await readFile(join(checkout, name), 'utf8'));
  const { files, name, version, ...rest } = manifest.parse(await json('package.json'));
  const { packages } = lock.parse(await json('package-lock.json'));
  const needed = Object.entries(packages).filter(
    ([path, { dev, optional }]) => path !== '' && !dev && !optional,
  );
  const taken = files.filter(file => file !== 'dist' && !file.startsWith('!'));
  for (const path of [...taken, ...needed.map(([path]) => path)]) {
    await cp(join(checkout, path), join(place, path), { recursive: true });
  }
  // Without what the tests' runner puts into every Node's environment.
  const clean = (cwd: string, ...command: readonly string[]) =>
    must('env', ['-i', `PATH=${plainEnvironment.PATH}`, `HOME=${folder}`, ...command], { cwd });
  const outDir = join(place, 'dist');
  const compiler = join(checkout, 'node_modules/.bin/tsc');
  await clean(checkout, compiler, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', outDir);
  const bundler = join(checkout, 'node_modules/.bin/vite');
  await clean(checkout, bundler, 'build', 'web', '--logLevel', 'warn', '--outDir', join(outDir, 'web'));
  const whole = { ...rest, name, version, files, bundleDependencies: true };
  await writeFile(join(place, 'package.json'), JSON.stringify(whole));
  await clean(place, 'npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder);
  return join(folder, `${name}-${version}.tgz`);
}
