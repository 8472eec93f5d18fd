/** The question whether something is meant, on a terminal. */

import { spawnSync } from 'node:child_process';
import t from 'tap';

const streams = new URL('../../src/commands/streams.ts', import.meta.url).href;
const program = `
  const { confirmed } = await import(${JSON.stringify(streams)});
  process.exitCode = (await confirmed('Forget it?')) ? 10 : 11;
`;

/** Asks on a terminal, where this is typed; gives the exit status. */
function asked(typed: string): number | null {
  const words = ['-qec', '"$NODE" --no-warnings --input-type=module --eval "$PROGRAM"', '/dev/null'];
  const env = { ...process.env, NODE: process.execPath, PROGRAM: program };
  return spawnSync('script', words, { input: typed, env, timeout: 60_000 }).status;
}

t.test('yes is yes, and all else is no, the end of the input as well', async t => {
  t.equal(asked('y\n'), 10);
  t.equal(asked('Yes\n'), 10);
  t.equal(asked('n\n'), 11);
  t.equal(asked('\n'), 11);
  t.equal(asked('\u0004'), 11, 'Ctrl-D');
});
