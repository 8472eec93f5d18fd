/** Removal of what a repack replaces, by a worker that is not root. */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const module = new URL('../../../../src/git/worker/space/collect.ts', import.meta.url);

function askedAs(groups: readonly number[], path: string): string {
  const script = `import { unremovable } from '${module}';
    process.setgroups(${JSON.stringify(groups)});
    process.setgid(4711);
    process.setuid(4711);
    process.stdout.write(String(await unremovable('${path}/objects')));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  return String(stdout) + String(stderr);
}

t.test('a directory that only another user may write keeps the worker from collecting', async t => {
  const path = t.testdir();
  chmodSync(path, 0o755);
  const objects = join(path, 'objects');
  for (const name of ['pack', '0a', 'info']) mkdirSync(join(objects, name), { recursive: true, mode: 0o755 });
  t.equal(askedAs([], path), join(objects, '0a'));
  chmodSync(join(objects, '0a'), 0o775);
  t.equal(askedAs([0], path), join(objects, 'pack'), 'a member of the group may write the one');
  chmodSync(join(objects, 'pack'), 0o775);
  t.equal(askedAs([0], path), 'null');
});
