/** The command line: hands over to one file of commands/, and ends with its exit status. */

import { CommanderError } from 'commander';
import { buildProgram } from './commands/index.ts';
import { statusTold, tellNote } from './commands/streams.ts';
import { exitCodes, SoftquotaError } from './errors.ts';
import { printable } from './text.ts';

/** Runs one command line; resolves with the exit status (see docs/commands.md). */
export async function main(args: readonly string[]): Promise<number> {
  let status: number = exitCodes.done;
  const program = await buildProgram(code => {
    status = code;
  }, args);
  try {
    await program.parseAsync(args, { from: 'user' });
    return statusTold(status);
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? statusTold(exitCodes.done) : exitCodes.usage;
    if (error instanceof SoftquotaError) {
      tellNote(error.message.split('\n').map(printable).join('\n'));
      return error.exitCode;
    }
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    tellNote(`internal error (please report it).\n${told}`);
    return exitCodes.internal;
  }
}
