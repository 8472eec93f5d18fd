/** Prints the head of results.md: the host that everything below was measured on. */

import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { version } from '../src/version.ts';
import { firstLine } from './processes.ts';

const fileSystem = firstLine('stat', ['-f', '-c', '%T', tmpdir()]);
const cores = cpus();
const lines = [
  ['date', new Date().toISOString().slice(0, 16).replace('T', ' ')],
  ['softquota', `${version}, ${firstLine('git', ['rev-parse', '--short', 'HEAD'])}`],
  ['cores', `${cores.length}, ${cores[0]?.model.trim() ?? 'unknown'}`],
  ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
  ['system', `Linux ${release()}, ${fileSystem} below ${tmpdir()}`],
  ['Node.js', process.versions.node],
  ['git', firstLine('git', ['--version']).replace('git version ', '')],
  ['du', firstLine('du', ['--version'])],
  ['curl', execFileSync('curl', ['--version'], { encoding: 'utf8' }).split(' ', 2)[1] ?? ''],
  ['load before', (loadavg()[0] ?? 0).toFixed(2)],
];

process.stdout.write(`# How fast it is

Written by \`bench/run\`; [README.md](README.md) says what each figure means. Figures are medians with the smallest
and largest in brackets. A ratio is softquota's figure to the other's, the median of what each round gave.

| host | |
| --- | --- |
${lines.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}
`);
