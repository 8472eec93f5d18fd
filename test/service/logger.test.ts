/**
 * The log of a process whose standard error is a pipe: what it shows of errors, and what it does while nobody
 * reads.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const child = fileURLToPath(new URL('logging-child.ts', import.meta.url));

function started(t: Test, ...args: readonly string[]) {
  const process_ = spawn(process.execPath, [child, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => process_.kill('SIGKILL'));
  return process_;
}

async function linesOf(process_: ChildProcess & { readonly stderr: NodeJS.ReadableStream }) {
  return (await textOf(process_.stderr)).trimEnd().split('\n');
}

t.test('the log shows type, message, code, stack and cause of an error, and nothing else of it', async t => {
  const process_ = started(t, 'info', 'json', 'errors');
  const lines = await linesOf(process_);
  const [first, bare, others, several] = lines.map(line => JSON.parse(line));
  const err = {
    type: 'RangeError',
    message: 'redis://********@redis.example:6379/0 refused "AUTH"',
    code: 'ECANARY',
    stack: /^RangeError: redis:\/\/\*{8}@redis\.example[\s\S]+logging-child/,
    cause: { type: 'Error', message: 'below', cause: { type: 'Error', message: 'at the bottom' } },
  };
  t.match(first, { msg: 'first', err });
  t.strictSame(Object.keys(first.err), ['type', 'message', 'code', 'stack', 'cause']);
  t.strictSame(Object.keys(first.err.cause), ['type', 'message', 'stack', 'cause']);
  t.match(bare, { msg: err.message, err });
  t.match(others, { reason: err, deep: { list: [err] } });
  t.match(several, { err: { type: 'AggregateError', errors: [err] } });
  t.notMatch(lines.join('\n'), /canary-/);
});

t.test('for people it shows no more', async t => {
  const words = (await linesOf(started(t, 'info', 'pretty', 'errors'))).join('\n');
  t.match(words, /RangeError: redis:\/\/\*{8}@redis\.example/);
  t.match(words, /at the bottom/);
  t.notMatch(words, /canary-/);
});

t.test('while nobody reads it, the process goes on and keeps what has room', async t => {
  const process_ = started(t, 'info', 'pretty', 'many', '10000');
  const heard = createInterface({ input: process_.stdout });
  const said: string[] = [];
  heard.on('line', line => said.push(line));
  while (said.length < 20) await once(heard, 'line');
  process_.stdin.write('\n');
  const [[code]] = await Promise.all([once(process_, 'exit'), once(heard, 'close')]);
  t.equal(code, 3, 'it ends, with its own status');
  t.equal(said.at(-1), 'left', 'and knows that not all was written');
  const lines = await linesOf(process_);
  t.ok(lines.length < 10_000);
});

t.test('once it is read again, it tells how many lines are missing', async t => {
  const process_ = started(t, 'info', 'json', 'many', '10000');
  const heard = createInterface({ input: process_.stdout });
  await once(heard, 'line');
  const read = createInterface({ input: process_.stderr });
  let lines = 0;
  let lost = 0;
  read.on('line', line => {
    if (/a line/.test(line)) lines++;
    lost = Number(/"?lines"?: ?(\d+)/.exec(line)?.[1] ?? lost);
    if (lost > 0) process_.stdin.write('\n');
  });
  const [code] = await once(process_, 'close');
  t.equal(code, 3);
  t.ok(lost > 0 && lines > 1000);
  t.equal(lines + lost, 10_000, 'none is missing without being counted');
});
