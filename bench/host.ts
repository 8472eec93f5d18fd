/** The head of bench/performance.md: the host that all of it was measured on. */

import { execFileSync } from 'node:child_process';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { firstLine } from './processes.ts';

/** A table of Markdown. */
export function hostTable(): string {
  const fileSystem = firstLine('stat', ['-f', '-c', '%T', tmpdir()]);
  const cores = cpus();
  const rows = [
    ['cores', `${cores.length}, ${cores[0]?.model.trim() ?? 'unknown'}`],
    ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
    ['system', `Linux ${release()}, ${fileSystem} below ${tmpdir()}`],
    ['Node.js', process.versions.node],
    ['git', firstLine('git', ['--version']).replace('git version ', '')],
    ['du', firstLine('du', ['--version'])],
    ['curl', execFileSync('curl', ['--version'], { encoding: 'utf8' }).split(' ', 2)[1] ?? ''],
  ];
  return `| host | |\n| --- | --- |\n${rows.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}`;
}
