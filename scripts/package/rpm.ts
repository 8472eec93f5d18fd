/** A package for Fedora, Red Hat, SUSE and their relatives. */

import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { checkout, layOut, makeUniform } from './contents.ts';
import type { PackageTask } from './deb.ts';
import { runTool } from './tool.ts';

const architectures: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** Directories that are the package's own; all others belong to the system. */
const own = /^\/(etc\/softquota|usr\/lib\/softquota|usr\/share\/doc\/softquota)(\/|$)/;

/** Returns the package's file. */
export async function makeRpm({ npmFile, work, out, about, epoch, isQuick }: PackageTask): Promise<string> {
  const root = join(work, 'root');
  const architecture = architectures[process.arch] ?? process.arch;
  const version = about.version.replace('-', '~');
  await layOut(npmFile, root, about.version, 'usr/share/zsh/site-functions/_softquota');
  await makeUniform(root, epoch);
  const words: Readonly<Record<string, string>> = {
    PAYLOAD: isQuick ? 'w1.gzdio' : 'w6T2.xzdio',
    VERSION: version,
    SUMMARY: 'Soft disk quota for git servers',
    LICENSE: about.license,
    ARCH: architecture,
    DESCRIPTION: `${about.description}.`,
    ROOT: root,
    BEFORE_INSTALL: await scriptOf('before-install'),
    AFTER_INSTALL: await scriptOf('after-install'),
    BEFORE_REMOVE: await scriptOf('before-remove'),
    AFTER_REMOVE: await scriptOf('after-remove'),
    FILES: await filesBelow(root),
  };
  const template = await readFile(join(checkout, 'packaging/softquota.spec'), 'utf8');
  const spec = join(work, 'softquota.spec');
  await writeFile(
    spec,
    template.replaceAll(/@([A-Z_]+)@/g, (_, word: string) => words[word] ?? ''),
  );
  const top = join(work, 'rpmbuild');
  await mkdir(top);
  const define = ['--define', `_topdir ${top}`];
  await runTool('rpmbuild', ['-bb', '--quiet', '--target', architecture, ...define, spec], {
    env: { SOURCE_DATE_EPOCH: String(epoch) },
  });
  const name = `softquota-${version}-1.${architecture}.rpm`;
  await rename(join(top, 'RPMS', architecture, name), join(out, name));
  return join(out, name);
}

/** A step's lines; rpm runs them by sh. A percent sign would begin a macro. */
async function scriptOf(name: string): Promise<string> {
  return (await readFile(join(checkout, 'packaging', name), 'utf8')).replaceAll('%', '%%');
}

async function filesBelow(root: string): Promise<string> {
  const lines: string[] = [];
  for (const entry of await readdir(root, { withFileTypes: true, recursive: true })) {
    const path = `/${relative(root, join(entry.parentPath, entry.name))}`;
    if (!entry.isDirectory()) lines.push(path);
    else if (own.test(path)) lines.push(`%dir ${path}`);
  }
  return lines.sort().join('\n');
}
