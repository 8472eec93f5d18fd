/** The client as the package has it: found by its name, with types that need no others. */

import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { run } from './run.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

const program = `
import { createClient, QuotaExceededError, type QuotaAnswer } from 'softquota/client';

const quota = createClient({ socket: '/run/gate.sock', onError: 'deny', timeoutMs: 500 });
export const answer: Promise<QuotaAnswer> = quota.check({ owner: 'alice', subject: 'size:git:lfs', size: 5 });
export const stored: Promise<number> = quota.withQuota('alice', 'size:git:lfs', 5, upload => {
  upload.stored(4);
  return 4;
});
export const graceEnds: Promise<number | undefined> = answer.then(({ grace }) => grace?.until?.getTime());
export const reporting: Promise<string | null> = answer.then(({ wouldRefuse, reported }) =>
  wouldRefuse ? (reported?.rule ?? null) : null,
);
export const isRefusal = (error: unknown): error is QuotaExceededError => error instanceof QuotaExceededError;
// @ts-expect-error: a subject is required with an owner
void quota.check({ owner: 'alice' });
// @ts-expect-error: there is no such subject
void quota.check({ owner: 'alice', subject: 'size:git' });
// @ts-expect-error: bytes are reported for a leaf
void quota.changed({ owner: 'alice', subject: 'size:all', delta: 1 });
// @ts-expect-error: there is no such policy
createClient({ onError: 'last' });
`;

t.test('a strict program compiles against its types, without those of Node', async t => {
  const folder = t.testdir({ 'package.json': '{"type": "module"}', 'program.ts': program });
  await mkdir(join(folder, 'node_modules'));
  await symlink(checkout, join(folder, 'node_modules/softquota'));
  const options = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    types: [],
    strict: true,
    noEmit: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  const tsc = join(checkout, 'node_modules/.bin/tsc');
  t.match(await run(tsc, ['-p', folder]), { code: 0, stdout: '', stderr: '' });
});
