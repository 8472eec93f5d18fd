/** Other programs: what they say, and that they end. */

import t from 'tap';
import { runProgram } from '../../src/bounded/index.ts';

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
  // What it started holds its output open after it has ended, and is killed all the same.
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

t.test('it has no terminal of ours, and the user that it is to run as', async t => {
  const script = 'cut -d" " -f6 /proc/$$/stat; echo $$; id -u; (: </dev/tty) 2>/dev/null || echo none';
  const { output } = await runProgram('sh', ['-c', script], { timeoutMs, user: { uid: 65534, gid: 65534 } });
  const [session, pid, uid, terminal] = output.split('\n');
  t.equal(session, pid, 'it leads a session');
  t.equal(uid, '65534');
  t.equal(terminal, 'none');
});
