/** A tarball that runs where it is unpacked. */

import { join } from 'node:path';
import { makeUniform, unpackWithNode } from './contents.ts';
import type { PackageTask } from './deb.ts';
import { runTool } from './tool.ts';

/** Returns the tarball's file. */
export async function makeArchive(task: PackageTask): Promise<string> {
  const { npmFile, work, out, about, epoch, isQuick } = task;
  const name = `softquota-${about.version}`;
  await unpackWithNode(npmFile, join(work, name), about.version);
  await makeUniform(join(work, name), epoch);
  const file = join(out, `${name}-${process.platform}-${process.arch}.tar.xz`);
  const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  const compress = `xz -T2 -${isQuick ? 0 : 6}`;
  await runTool('tar', ['-C', work, ...same, '-I', compress, '-cf', file, name]);
  return file;
}
