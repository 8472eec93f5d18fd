import type { Test } from 'tap';
import { wordsOf } from './commands.ts';
import { Server, type ServerOptions } from './server.ts';

/** A server, and what its commands must print, exit with and refuse. */
export async function openCommandServer(t: Test, options: ServerOptions = {}) {
  const server = await Server.open(t, options);
  return {
    server,
    done: server.done.bind(server),
    json: server.json.bind(server),
    /** Checks the exit status of a command, and what it says on standard error. */
    refused: async (code: number, said: RegExp, line: string, ...words: readonly string[]) => {
      const args = [...wordsOf(line), ...words];
      t.match(await server.softquota(args), { code, stderr: said }, args.join(' '));
    },
  };
}
