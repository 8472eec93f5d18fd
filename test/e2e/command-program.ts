/**
 * Runs one command line after another in one process, by the same function as scripts/built.js.
 *
 * In: messages of its parent, each with a command line, and where and with what environment it runs. Out: a
 * message with its exit status and what it wrote. Ends with its parent.
 */

import { globalAgent } from 'node:http';
import type { CommandLine, Ended } from './commands.ts';

const built = new URL('../../dist/bin.js', import.meta.url).href;
const { main }: typeof import('../../src/bin.ts') = await import(built);

let written: Ended = { code: 0, stdout: '', stderr: '' };

/** Takes what is written to a stream. */
function taking(stream: 'stdout' | 'stderr'): typeof process.stdout.write {
  return (text: string | Uint8Array, ...rest: readonly unknown[]) => {
    written = { ...written, [stream]: written[stream] + String(text) };
    const then = rest.at(-1);
    if (typeof then === 'function') process.nextTick(then);
    return true;
  };
}

process.stdout.write = taking('stdout');
process.stderr.write = taking('stderr');
process.on('disconnect', () => process.exit());
process.on('message', async ({ args, cwd, env }: CommandLine) => {
  written = { code: 0, stdout: '', stderr: '' };
  process.chdir(cwd);
  process.env = { ...env };
  const code = await main(args);
  globalAgent.destroy();
  process.chdir('/');
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  process.send?.({ ...written, code } satisfies Ended);
});
