/**
 * The files of the packages: those that npm publishes, the pinned Node, and the program that starts one with
 * the other.
 */

import { globSync } from 'node:fs';
import {
  chmod,
  cp,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { runTool } from './tool.ts';

export const checkout = fileURLToPath(new URL('../..', import.meta.url));

const manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  author: z.string(),
});

export type Manifest = z.infer<typeof manifest>;

export async function readManifest(folder: string): Promise<Manifest> {
  const json: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  return manifest.parse(json);
}

/**
 * Packs what npm publishes into `folder`; returns the file. Packages that softquota is built of are no
 * dependencies of it there, since dist/ has all of them.
 */
export async function packForNpm(folder: string): Promise<string> {
  const { dependencies: _, devDependencies: __, ...published } = await readManifest(checkout);
  const file = join(folder, `${published.name}-${published.version}.tgz`);
  const work = await mkdtemp(join(folder, 'npm-'));
  await npmPack(checkout, work);
  await runTool('tar', ['-xzf', join(work, basename(file)), '-C', work]);
  const packed = join(work, 'package');
  await writeFile(join(packed, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  await npmPack(packed, folder);
  await rm(work, { recursive: true });
  return file;
}

async function npmPack(from: string, folder: string): Promise<void> {
  await runTool('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: from });
}

/**
 * Unpacks what npm publishes into `folder`, with another version if one is given, and puts Node and the
 * program that starts it there.
 */
export async function unpackWithNode(npmFile: string, folder: string, version: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await runTool('tar', ['-xzf', npmFile, '-C', folder, '--strip-components=1']);
  const about = { ...(await readManifest(folder)), version };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  await cp(join(checkout, 'node_modules/node/bin/node'), join(folder, 'node'));
  const [license = ''] = globSync('node_modules/{node/node_modules/,}node-*/LICENSE', { cwd: checkout });
  await cp(join(checkout, license), join(folder, 'dist/licenses-node.txt'));
  await cp(join(checkout, 'packaging/softquota'), join(folder, 'bin/softquota'));
}

/**
 * Places in a distribution of the files that are not the program, by their place in the published package.
 */
const systemPlaces: Readonly<Record<string, string>> = {
  'systemd/sysusers.d': 'usr/lib/sysusers.d',
  'systemd/tmpfiles.d': 'usr/lib/tmpfiles.d',
  systemd: 'usr/lib/systemd/system',
  'share/completions/softquota.bash': 'usr/share/bash-completion/completions/softquota',
  'share/completions/softquota.fish': 'usr/share/fish/vendor_completions.d/softquota.fish',
  'share/man/softquota.1': 'usr/share/man/man1/softquota.1',
  'share/man/app.ini.5': 'usr/share/man/man5/app.ini.5',
  docs: 'usr/share/doc/softquota/docs',
  'README.md': 'usr/share/doc/softquota/README.md',
  'CHANGELOG.md': 'usr/share/doc/softquota/CHANGELOG.md',
  'app.ini.example': 'usr/share/doc/softquota/app.ini.example',
};

/** Lays a root directory out, below `root`, as a distribution has it. */
export async function layOut(
  npmFile: string,
  root: string,
  version: string,
  zshPlace: string,
): Promise<void> {
  const program = join(root, 'usr/lib/softquota');
  await unpackWithNode(npmFile, program, version);
  // They put the units where an administrator's own are.
  for (const step of ['install', 'remove']) await rm(join(program, 'systemd', step));
  const places = { ...systemPlaces, 'share/completions/_softquota': zshPlace };
  for (const [from, to] of Object.entries(places)) {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await rename(join(program, from), join(root, to));
  }
  for (const moved of ['completions', 'man']) await rm(join(program, 'share', moved), { recursive: true });
  await runTool('gzip', [
    '-9n',
    ...['man1/softquota.1', 'man5/app.ini.5'].map(page => join(root, 'usr/share/man', page)),
  ]);
  // The manual names what is in it by the path that every installation has.
  await symlink('../../share/doc/softquota/docs', join(program, 'docs'));
  await mkdir(join(root, 'usr/bin'));
  await symlink('../lib/softquota/bin/softquota', join(root, 'usr/bin/softquota'));
  await mkdir(join(root, 'etc/softquota'), { recursive: true });
}

/** Gives everything below `folder` the rights of files for all, and the same time. */
export async function makeUniform(folder: string, epoch: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) await chmod(path, (await isProgram(path)) ? 0o755 : 0o644);
    if (entry.isDirectory()) await chmod(path, 0o755);
    await lutimes(path, epoch, epoch);
  }
  await chmod(folder, 0o755);
  await lutimes(folder, epoch, epoch);
}

async function isProgram(path: string): Promise<boolean> {
  if (path.endsWith('/node')) return true;
  return !path.endsWith('.md') && (await readFile(path)).subarray(0, 2).equals(Buffer.from('#!'));
}
