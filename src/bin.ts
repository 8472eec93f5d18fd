/** The command line: hands over to one file of commands/, and ends with its exit status. */

import { CommanderError } from 'commander';
import { buildProgram } from './commands/index.ts';
import { exitCodes, SoftquotaError } from './errors.ts';
import { printable } from './quota/index.ts';

/** Runs one command line; resolves with the exit status (see docs/commands.md). */
export async function main(args: readonly string[]): Promise<number> {
  // Whoever reads our output may stop doing so: `softquota usage | head`.
  process.stdout.on('error', () => process.exit(exitCodes.done));
  let status: number = exitCodes.done;
  const program = buildProgram(code => {
    status = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    if (error instanceof SoftquotaError) {
      process.stderr.write(`softquota: ${error.message.split('\n').map(printable).join('\n')}\n`);
      return error.exitCode;
    }
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`softquota: this is a mistake of softquota's own.\n${told}\n`);
    return exitCodes.internal;
  }
}
