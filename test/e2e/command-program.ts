/**
 * Runs one command line after another in one process, by the same function as scripts/built.js.
 *
 * In: messages of its parent, each with a command line, and where and with what environment it runs. Out: a
 * message with its exit status and what it wrote. Ends with its parent.
 */

import fs from 'node:fs';
import { globalAgent } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { CommandLine, Ended } from './commands.ts';

const built = new URL('../../dist/bin.js', import.meta.url).href;
const { main }: typeof import('../../src/bin.ts') = await import(built);

let written: Ended = { code: 0, stdout: '', stderr: '' };

const { writeSync } = fs;

/** Takes what is written to the streams. */
function takingStreams(descriptor: number, bytes: Buffer, ...place: number[]): number {
  if (descriptor !== 1 && descriptor !== 2) return writeSync(descriptor, bytes, ...place);
  const stream = descriptor === 1 ? 'stdout' : 'stderr';
  written = { ...written, [stream]: written[stream] + String(bytes) };
  return bytes.byteLength;
}

fs.writeSync = takingStreams as typeof writeSync;
syncBuiltinESMExports();
process.on('disconnect', () => process.exit());
process.on('message', async ({ args, cwd, env }: CommandLine) => {
  written = { code: 0, stdout: '', stderr: '' };
  process.chdir(cwd);
  process.env = { ...env };
  const code = await main(args);
  globalAgent.destroy();
  process.chdir('/');
  process.send?.({ ...written, code } satisfies Ended);
});
