/** The runner of the tests: a file in which anything goes wrong has failed, wherever it went wrong. */

import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { inOrder, waitingFiles } from '../../scripts/test-order.ts';
import { type Run, run } from '../e2e/run.ts';

const runner = fileURLToPath(new URL('../../scripts/run-tests.ts', import.meta.url));

const subtest = (body: string) => `t.test('first', async t => { t.pass('one'); ${body} });`;
const wait = 'await new Promise(resolve => setTimeout(resolve, 20));';

const files: Readonly<Record<string, string>> = {
  'good.test.js': subtest(''),
  'failed.test.js': subtest("t.fail('two');"),
  'timer.test.js': subtest(`setTimeout(() => { throw new Error('of a timer'); }, 5); ${wait}`),
  'rejected.test.js': subtest(`void Promise.reject(new Error('of a promise')); ${wait}`),
  'emitted.test.js': subtest(
    `process.nextTick(() => process.emit('error', new Error('of an event'))); ${wait}`,
  ),
  'after.test.js': `${subtest('')} t.end(); setTimeout(() => { throw new Error('after the end'); }, 5);`,
  'endless.test.js': subtest('await new Promise(() => {});'),
  'top.test.js': `${subtest('')} await new Promise(() => {});`,
  'empty.test.js': '',
};

const folder = t.testdir(
  Object.fromEntries(Object.entries(files).map(([name, text]) => [name, `import t from 'tap';\n${text}\n`])),
);

const runFile = (name: string): Promise<Run> =>
  run(process.execPath, [runner, join(folder, name)], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  });

t.test('every file runs once, those that mostly wait beside the others', async t => {
  const paths = globSync('test/**/*.test.ts', {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    exclude: ['**/node_modules'],
  });
  const { busy, waiting } = inOrder(paths);
  t.strictSame([...busy, ...waiting].sort(), paths.toSorted());
  t.strictSame(waiting, waitingFiles, 'each of these is there');
  t.match(busy[0], /^test\/e2e\//, 'long ones begin');
  t.match(inOrder(['test/text/sizes.test.ts']), { busy: ['test/text/sizes.test.ts'], waiting: [] });
});

t.test('a file that passes is counted', async t => {
  const { code, stdout } = await runFile('good.test.js');
  t.equal(code, 0, stdout);
  t.match(stdout, /^ok 1 - .*good\.test\.js # time=\d+ms cpu=\d+ms\n1 passed, 0 failed\n$/);
});

for (const name of Object.keys(files).filter(name => name !== 'good.test.js')) {
  t.test(`${name} has failed`, async t => {
    const { code, stdout } = await runFile(name);
    t.equal(code, 1, stdout);
    t.match(stdout, /^not ok 1 - .*\n\d+ passed, [1-9]\d* failed\n$/m);
  });
}
