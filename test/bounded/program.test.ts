/** Other programs: what they say, and that they end. */

import t from 'tap';
import { pipePrograms, runProgram } from '../../src/bounded/index.ts';

const timeoutMs = 30_000;

t.test('a program is run with what it is given, and nothing else of ours', async t => {
  process.env.SOFTQUOTA_TEST = 'ours';
  const script = 'cat; pwd; env | sed -n "s/^\\(SOFTQUOTA\\|MORE\\)/&/p"; echo complaint >&2; exit 3';
  const ended = await runProgram('sh', ['-c', script], { timeoutMs, input: 'in\n', env: { MORE: 'more' } });
  t.same(ended, { status: 3, output: 'in\n/\nMORE=more\n', complaint: 'complaint' });
});

t.test('what does not end is killed, with all that it started', async t => {
  const script = 'sleep 1000 & echo $! >&2; wait';
  const late = runProgram('sh', ['-c', script], { timeoutMs: 300 });
  await t.rejects(late, { code: 'not_ready', message: 'sh: no end within 0.3 s' });
  // A child that holds the output open after the program has ended is killed all the same.
  const left = runProgram('sh', ['-c', 'sleep 1000 & exit 0'], { timeoutMs: 300 });
  await t.rejects(left, { code: 'not_ready' });
});

t.test('what prints without end is killed', async t => {
  await t.rejects(runProgram('yes', [], { timeoutMs, mostBytes: 100_000 }), {
    code: 'conflict',
    message: 'yes: more than 100000 bytes printed',
  });
});

t.test('a program that is not there is an error of the system', async t => {
  await t.rejects(runProgram('/no/such/program', [], { timeoutMs }), { code: 'ENOENT' });
});

t.test('a program for which no descriptor is left is an error of the system, and breaks nothing', async t => {
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    import { pipePrograms } from '${new URL('../../src/bounded/index.ts', import.meta.url)}';
    const open = [];
    try { for (;;) open.push(openSync('/dev/null')); } catch {}
    const stage = { program: 'sleep', args: ['1000'], env: {} };
    const codes = new Set();
    // Node leaves descriptors open that it has made for a program which it then cannot start.
    for (let free = 1; !codes.has('not_ready'); free++) {
      for (const descriptor of open.splice(-free)) closeSync(descriptor);
      codes.add(await pipePrograms([stage, stage], { timeoutMs: 50 }, () => {}).catch(error => error.code));
      await setTimeout(60);
    }
    console.log([...codes].join());`;
  const words = ['--nofile=256', process.execPath, '--input-type=module', '--eval', script];
  const { status, output, complaint } = await runProgram('prlimit', words, { timeoutMs });
  t.same({ status, output }, { status: 0, output: 'EMFILE,not_ready\n' }, complaint);
});

t.test('it has no terminal of ours, and the user that it is to run as', async t => {
  const script = 'cut -d" " -f6 /proc/$$/stat; echo $$; id -u; (: </dev/tty) 2>/dev/null || echo none';
  const { output } = await runProgram('sh', ['-c', script], { timeoutMs, user: { uid: 65534, gid: 65534 } });
  const [session, pid, uid, terminal] = output.split('\n');
  t.equal(session, pid, 'it leads a session');
  t.equal(uid, '65534');
  t.equal(terminal, 'none');
});

t.test('what is asked to end ends by itself, and may clean up', async t => {
  const stop = new AbortController();
  const script = 'trap "echo cleaned; exit 7" TERM; sleep 1000 & wait';
  const ended = runProgram('sh', ['-c', script], {
    timeoutMs,
    signal: stop.signal,
    isNiced: true,
  });
  setImmediate(() => stop.abort());
  const { status, output } = await ended;
  t.ok(status === null || (status === 7 && /cleaned/.test(output)), `${status}: ${output}`);
});

t.test('programs that read each other give all that the last one prints, and how each ended', async t => {
  const env = {};
  const stage = (script: string) => ({ program: 'sh', args: ['-c', script], env });
  const pieces: Buffer[] = [];
  const take = (piece: Buffer) => pieces.push(piece);
  const ended = await pipePrograms(
    [stage('cat; echo first >&2; exit 3'), stage('tr a-z A-Z')],
    { timeoutMs, input: 'abc\n' },
    take,
  );
  t.same(ended, [
    { status: 3, complaint: 'first' },
    { status: 0, complaint: '' },
  ]);
  t.equal(Buffer.concat(pieces).toString(), 'ABC\n');
  const late = pipePrograms([stage('yes'), stage('sleep 1000')], { timeoutMs: 300 }, take);
  await t.rejects(late, { code: 'not_ready' });
  await t.rejects(
    pipePrograms([stage('yes')], { timeoutMs }, () => {
      throw new Error('enough');
    }),
    { message: 'enough' },
  );
  await t.rejects(pipePrograms([{ program: '/no/such/program', args: [], env }], { timeoutMs }, take), {
    code: 'ENOENT',
  });
});
