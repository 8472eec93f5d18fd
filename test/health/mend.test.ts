/** Command lines that mend: whatever a name holds, a shell reads that name and nothing else. */

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import t from 'tap';
import { commandLine, quoted } from '../../src/health/index.ts';
import { decodePath, encodePath } from '../../src/layout/index.ts';
import { printable } from '../../src/text.ts';

/** Any bytes that a path can have, as the string that stands for them. */
const anyPath = fc
  .array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 24 })
  .map(bytes => decodePath(Uint8Array.from(bytes)));

const awkward = fc.stringMatching(/^[a-z '"\\$`\n\t*?~#;&|<>(){}[\]!%-]{1,24}$/);

function readByShell(word: string): Buffer {
  return execFileSync('sh', ['-c', `printf %s ${word}`]);
}

t.test('a shell reads of a quoted word the very bytes that it stands for', async () => {
  fc.assert(
    fc.property(fc.oneof(anyPath, awkward), path => {
      return readByShell(quoted(path)).equals(Buffer.from(encodePath(path)));
    }),
    { numRuns: 300 },
  );
});

t.test('a quoted word shows nothing that a terminal obeys', async () => {
  fc.assert(
    fc.property(anyPath, path => {
      const shown = quoted(path).replaceAll('\n', '');
      return printable(shown) === shown;
    }),
  );
});

t.test('plain words stand as they are', async t => {
  t.equal(commandLine('rm', '-rf', '--', '/srv/git/a b'), "rm -rf -- '/srv/git/a b'");
  t.equal(quoted(''), "''");
});
