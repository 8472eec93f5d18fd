/** Programs that packages are made with. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const longestOutput = 64 * 1024 * 1024;

/** Runs a program to its end; returns what it printed. Rejects with what it complained of. */
export async function runTool(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: longestOutput };
  const { stdout } = await promisify(execFile)(program, [...args], options);
  return stdout;
}
