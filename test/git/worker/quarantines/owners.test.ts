/** Quarantines that a living process may own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import {
  heldQuarantines,
  type Process,
  pushProcesses,
} from '../../../../src/git/worker/quarantines/processes.ts';
import { must } from '../../../e2e/run.ts';

const minute = 60_000;
const here = '1:100';

function seen(name: string, bornAt: number, uid = 1000) {
  return { name, bornAt, uid };
}

function process(pid: number, differing: Partial<Process> = {}): Process {
  return {
    pid,
    parent: 1,
    uid: 1000,
    startedAt: 10 * minute,
    takesPush: true,
    quarantine: null,
    directory: here,
    ...differing,
  };
}

const old = seen('old', 5 * minute);
const young = seen('young', 11 * minute);
const youngest = seen('youngest', 12 * minute);
const all = [old, young, youngest];

function held(processes: readonly Process[], quarantines = all) {
  return [...heldQuarantines(quarantines, new Set([here]), processes)].sort();
}

t.test('a push holds the one that its children name, and no other', async t => {
  const push = process(7);
  t.same(held([push, process(8, { parent: 7, quarantine: 'young' })]), ['young']);
  const hook = process(9, { parent: 8, takesPush: false, quarantine: 'young' });
  t.same(held([push, process(8, { parent: 7 }), hook]).includes('young'), true);
  t.same(held([]), []);
});

t.test('one without a child holds all that may be its own', async t => {
  t.same(held([process(7)]), ['young', 'youngest'], 'its own is younger than itself');
  t.same(held([process(7, { uid: 1001 })]), [], "its own is its user's");
  t.same(held([process(7)], [seen('unknown', 0)]), ['unknown'], 'where the file system does not say');
  t.same(held([process(7, { startedAt: 11 * minute + 2000 })]), ['young', 'youngest'], 'to a second or so');
});

t.test('elsewhere and in other programs nobody holds anything', async t => {
  t.same(held([process(7, { directory: '1:101' })]), []);
  t.same(held([process(7, { directory: '1:101', quarantine: 'young' })]), []);
});

t.test('a push to another repository holds its own where both have the same objects', async t => {
  const elsewhere = { directory: '1:101', quarantine: 'young' };
  t.same(held([process(7, { ...elsewhere, objects: here })]), ['young']);
  t.same(held([process(7, { ...elsewhere, objects: '1:102' })]), []);
});

t.test('one whose directory cannot be read may be at work here', async t => {
  const hidden = { directory: null, startedAt: 20 * minute };
  t.same(held([process(7, hidden)]), ['youngest']);
  t.same(held([process(7, { ...hidden, uid: 1001 })]), []);
  t.same(held([process(7, { ...hidden, startedAt: 0 })]), ['old', 'young', 'youngest']);
});

t.test('other work goes on while many processes are looked at', async t => {
  const many = 'for each in $(seq 120); do sleep 600 & done; echo; wait';
  const shell = spawn('sh', ['-c', many], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  t.teardown(() => globalThis.process.kill(-(shell.pid ?? 0)));
  await once(shell.stdout, 'data');
  let turns = 0;
  let isOver = false;
  const counted = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  await pushProcesses();
  isOver = true;
  await counted;
  t.ok(turns > 2, `${turns} turns`);
});

t.test('the start of a process is known where /proc has nothing but processes', async t => {
  const module = new URL('../../../../src/git/worker/quarantines/processes.ts', import.meta.url);
  const script = `
    import { pushProcesses } from '${module}';
    const own = (await pushProcesses()).find(({ pid }) => pid === process.pid);
    console.log(Date.now() - own.startedAt);`;
  const words = ['--input-type=module', '--eval', script, 'receive-pack'];
  const hidden = 'mount -t proc -o subset=pid proc /proc && ! test -e /proc/stat && exec "$@"';
  for (const mounting of [hidden, 'exec "$@"']) {
    const node = [globalThis.process.execPath, ...words];
    const ms = await must('unshare', ['--mount', 'sh', '-c', mounting, 'sh', ...node]);
    t.ok(Math.abs(Number(ms)) < 5000, `${ms} ms ago`);
  }
});
