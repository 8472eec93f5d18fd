/** `softquota init` in a folder, and the daemon with what it wrote there. */

import { join } from 'node:path';
import type { Test } from 'tap';
import type { InitReport } from '../../src/commands/init-report.ts';
import { ask, until } from './ask.ts';
import { softquota } from './commands.ts';
import { anyPort, Daemon } from './daemon.ts';
import type { Run } from './run.ts';

export function init(folder: string, ...args: readonly string[]): Promise<Run> {
  return softquota(['init', ...args], { cwd: folder });
}

/** The report as programs get it; the configuration lies in the folder. */
export async function toldBy(folder: string, ...args: readonly string[]): Promise<InitReport> {
  const { code, stdout, stderr } = await init(folder, ...args, '--json');
  if (code !== 0) throw new Error(`init: ${code}\n${stdout}${stderr}`);
  return JSON.parse(stdout);
}

export async function start(t: Test, folder: string, env: Readonly<Record<string, string>> = {}) {
  const daemon = new Daemon(join(folder, 'app.ini'), { env: { ...anyPort, ...env } });
  t.teardown(() => daemon.end());
  await daemon.logged(/^softquota answers/);
  return daemon;
}

/** Resolves once the daemon in the folder is ready. */
export async function ready(folder: string): Promise<void> {
  const socket = join(folder, 'data/gate.sock');
  await until(async () => (await ask(socket, '/readyz')).status === 200 || null);
}
