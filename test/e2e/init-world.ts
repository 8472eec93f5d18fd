/** `softquota init` in a folder, and the daemon with what it wrote there. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { z } from 'zod';
import { ownerRow } from '../../src/wire/index.ts';
import { ask, until } from './ask.ts';
import { softquota } from './commands.ts';
import { anyPort, Daemon } from './daemon.ts';
import type { Run } from './run.ts';

const forgeReport = z.object({
  kind: z.string(),
  config: z.string().nullable(),
  address: z.string().nullable(),
  database: z.string().nullable(),
  schema_version: z.number().nullable(),
  fault: z.object({ code: z.string(), message: z.string(), mend: z.string() }).nullable(),
  unowned: z.array(z.object({ reason: z.string(), bytes: z.number() })),
});

const report = z.object({
  config: z.string(),
  layout: z.string(),
  owners: z.number(),
  total: z.number(),
  largest: z.array(ownerRow),
  proposal: z.object({
    total: z.string(),
    bytes: z.number(),
    refused: z.array(z.object({ name: z.string(), used: z.number() })),
  }),
  unattributed: z.object({
    repositories: z.number(),
    directories: z.array(z.object({ what: z.string(), path: z.string(), bytes: z.number() })),
    directory_count: z.number(),
    stores: z.array(z.object({ what: z.string(), path: z.string(), bytes: z.number() })),
  }),
  forge: forgeReport.nullable(),
  next: z.object({
    look: z.string(),
    hooks: z.string().nullable(),
    enforce: z.string(),
    forge: z.string().nullable(),
  }),
});

export type InitReport = z.infer<typeof report>;

export function init(folder: string, ...args: readonly string[]): Promise<Run> {
  return softquota(['init', ...args], { cwd: folder });
}

/** The report as programs get it; the configuration lies in the folder. */
export async function toldBy(folder: string, ...args: readonly string[]): Promise<InitReport> {
  const { code, stdout, stderr } = await init(folder, ...args, '--json');
  if (code !== 0) throw new Error(`init: ${code}\n${stdout}${stderr}`);
  return report.parse(JSON.parse(stdout));
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
