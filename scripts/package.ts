/**
 * Makes the packages that people install: `npm run package`.
 *
 * In:   --out DIRECTORY (var/packages), --only deb,rpm,tar,npm (all), --quick for tests: hardly compressed, and
 *       --as VERSION, another version than that of package.json. What is built has to be current: `npm run
 *       package` builds first. SOURCE_DATE_EPOCH, else the time of the last commit, is the time of every file in
 *       them: the same sources give the same bytes.
 * Out:  the packages, a bill of materials and SHA256SUMS in the directory; their names on standard output, and
 *       what is being made on standard error.
 * Exit: 0, or 1 and why.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { makeArchive } from './package/archive.ts';
import { writeBill } from './package/bill.ts';
import { checkout, packForNpm, readManifest } from './package/contents.ts';
import { makeDeb, type PackageTask } from './package/deb.ts';
import { makeRpm } from './package/rpm.ts';
import { runTool } from './package/tool.ts';

/** Each kind, what makes it, and the programs for that with the Debian packages that they are in. */
const makers = {
  deb: { make: makeDeb, needs: ['dpkg-deb=dpkg', 'xz=xz-utils'] },
  rpm: { make: makeRpm, needs: ['rpmbuild=rpm'] },
  tar: { make: makeArchive, needs: ['xz=xz-utils'] },
};
const allKinds = [...Object.keys(makers), 'npm'];

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'var/packages' },
    only: { type: 'string', default: allKinds.join() },
    quick: { type: 'boolean', default: false },
    as: { type: 'string' },
  },
});
// Everybody may read what is packed, whatever the umask of the one who packs it.
process.umask(0o022);
const out = resolve(values.out);
const kinds = values.only.split(',');
const unknown = kinds.find(kind => !allKinds.includes(kind));
if (unknown !== undefined) {
  process.stderr.write(
    `package: --only ${unknown}: expected ${allKinds.join(', ')}, with commas between them\n`,
  );
  process.exit(1);
}
const manifest = await readManifest(checkout);
const about = { ...manifest, version: values.as ?? manifest.version };
const epoch = Number(
  process.env.SOURCE_DATE_EPOCH ?? (await runTool('git', ['log', '-1', '--format=%ct'], { cwd: checkout })),
);

await mkdir(out, { recursive: true });
const work = await mkdtemp(join(tmpdir(), 'softquota-package-'));
try {
  tell('packing what npm publishes');
  const npmFile = await packForNpm(work);
  const files: string[] = [];
  for (const [kind, { make, needs }] of Object.entries(makers)) {
    if (!kinds.includes(kind)) continue;
    tell(`making the ${kind}`);
    await runTool(join(checkout, 'scripts/need'), needs);
    const task: PackageTask = { npmFile, work: join(work, kind), out, about, epoch, isQuick: values.quick };
    await mkdir(task.work);
    files.push(await make(task));
  }
  if (kinds.includes('npm')) {
    const file = join(out, basename(npmFile));
    await runTool('cp', [npmFile, file]);
    files.push(file, await billOf());
  }
  await writeSums(files);
  for (const file of files) process.stdout.write(`${file}\n`);
} finally {
  await rm(work, { recursive: true });
}

function tell(words: string): void {
  process.stderr.write(`softquota: ${words}\n`);
}

async function billOf(): Promise<string> {
  const file = join(out, `softquota-${about.version}.cdx.json`);
  await writeBill(file, about, epoch);
  return file;
}

/** In the form that `sha256sum --check` reads. */
async function writeSums(files: readonly string[]): Promise<void> {
  const lines: string[] = [];
  for (const file of files) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(file), hash);
    lines.push(`${hash.digest('hex')}  ${basename(file)}\n`);
  }
  const sums = join(out, 'SHA256SUMS');
  await writeFile(`${sums}.new`, lines.sort((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(''));
  await rename(`${sums}.new`, sums);
}
