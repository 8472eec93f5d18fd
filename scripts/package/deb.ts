/** A package for Debian and its relatives. */

import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { checkout, layOut, type Manifest, makeUniform } from './contents.ts';
import { runTool } from './tool.ts';

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Each step that dpkg runs, and the program in packaging/ that does it. */
const steps = {
  preinst: 'before-install',
  postinst: 'after-install',
  prerm: 'before-remove',
  postrm: 'after-remove',
};

export interface PackageTask {
  /** Tarball that npm publishes. */
  readonly npmFile: string;
  /** An empty directory. */
  readonly work: string;
  /** The directory that the package goes to. */
  readonly out: string;
  readonly about: Manifest;
  /** Seconds since 1970, for everything in it. */
  readonly epoch: number;
  /** For tests: quick to make, and large. */
  readonly isQuick: boolean;
}

/** Returns the package's file. */
export async function makeDeb({ npmFile, work, out, about, epoch, isQuick }: PackageTask): Promise<string> {
  const root = join(work, 'root');
  const architecture = architectures[process.arch] ?? process.arch;
  // 1.0.0-rc.1 comes before 1.0.0 in dpkg's order only with a tilde.
  const version = about.version.replace('-', '~');
  await layOut(npmFile, root, about.version, 'usr/share/zsh/vendor-completions/_softquota');
  await cp(join(checkout, 'LICENSE'), join(root, 'usr/share/doc/softquota/copyright'));
  const control = join(root, 'DEBIAN');
  const { sums, bytes } = await sumsBelow(root);
  await mkdir(control);
  await writeFile(join(control, 'md5sums'), sums);
  await writeFile(
    join(control, 'control'),
    `Package: softquota
Version: ${version}
Architecture: ${architecture}
Maintainer: ${about.author}
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: curl, git, libc6 (>= 2.28), libstdc++6 (>= 8), passwd
Recommends: netcat-openbsd
Section: vcs
Priority: optional
Description: soft disk quota for git servers
 ${about.description}.
`,
  );
  for (const [step, program] of Object.entries(steps)) {
    await cp(join(checkout, 'packaging', program), join(control, step));
  }
  await makeUniform(root, epoch);
  for (const step of Object.keys(steps)) await chmod(join(control, step), 0o755);
  const file = join(out, `softquota_${version}_${architecture}.deb`);
  const compression = isQuick ? ['-Znone'] : ['-Zxz', '-z6'];
  await runTool('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file], {
    env: { SOURCE_DATE_EPOCH: String(epoch) },
  });
  return file;
}

async function sumsBelow(root: string): Promise<{ readonly sums: string; readonly bytes: number }> {
  const lines: string[] = [];
  let bytes = 0;
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  for (const entry of entries.filter(each => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const content = await readFile(path);
    bytes += content.length;
    lines.push(`${createHash('md5').update(content).digest('hex')}  ${relative(root, path)}\n`);
  }
  return { sums: lines.sort((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1)).join(''), bytes };
}
