/** Files, repositories and installations in the folder of one test. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadConfig } from '../../src/config/index.ts';
import { type Installation, Report } from '../../src/doctor/installation.ts';

export function write(file: string, content: string | Buffer, mode = 0o644): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode });
  return file;
}

export function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

export const context = { uid: 0, configOption: null };

/** An installation with this app.ini in a folder, whose daemon has nothing to say. */
export function installationIn(
  folder: string,
  ini: string,
  differing: Partial<Installation> = {},
): Installation {
  const file = write(join(folder, 'app.ini'), ini);
  const loaded = loadConfig({ file, env: {}, cwd: folder, uid: 0 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const ask = async () => ({ status: 200, json: [] });
  return { loaded, admin: ask, gate: ask, context, ...differing };
}

/** The report to which one check has added. */
export async function reportOf(check: (report: Report) => unknown): Promise<Report> {
  const report = new Report();
  await check(report);
  return report;
}

/** The findings of a check that waits for nothing. */
export function findingsOf(check: (report: Report) => void): Report['findings'] {
  const report = new Report();
  check(report);
  return report.findings;
}
