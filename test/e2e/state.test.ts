/** `softquota` alone: the state in ten lines, and its help in five groups. */

import { chmod } from 'node:fs/promises';
import t from 'tap';
import { oddKeys } from '../api/keys.ts';
import { asNobody } from './commands.ts';
import { Server } from './server.ts';
import { askForMore } from './space-requests.ts';

t.test('softquota alone tells who is over and near, disks, the worker, and what doctor says', async t => {
  const server = await Server.open(t, { repositories: ['alice/app', 'bob/app', 'carol/app'] });
  await server.reports('alice', 2_000_000);
  await server.reports('bob', 900_000);
  await askForMore(server, ['alice']);
  const { code, stdout } = await server.softquota([]);
  t.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  t.ok(lines.length <= 10, stdout);
  const word = (title: string) => lines.find(line => line.startsWith(`${title} `)) ?? '';
  t.match(word('owners'), /^owners {4}3$/);
  t.match(word('over'), /alice \(2\d\d %\)/);
  t.match(word('near'), /bob \(9\d %\)/);
  t.notMatch(stdout, /carol/);
  t.match(word('requests'), /1 open: softquota request list/);
  t.match(word('disk'), /free of/);
  t.match(word('worker'), /not running/);
  t.match(word('doctor'), /^doctor {4}no problems/);

  await server.softquota(`hooks remove ${server.path('carol/app')}`);
  await server.reload({ quota: { MODE: 'report' } });
  const { stdout: later } = await server.softquota([]);
  t.match(later, /report mode: nothing is refused/);
  t.match(later, /doctor {4}\d problems? \(.*\); softquota doctor shows how to fix them/);
  const { stdout: json } = await server.softquota('--json');
  t.strictSame(oddKeys(JSON.parse(json)), []);
  t.match(JSON.parse(json), {
    mode: 'report',
    over: [{ name: 'alice' }],
    near: [{ name: 'bob' }],
    open_requests: 1,
    worker: { running: false, version: null },
    findings: [{ severity: 'wrong' }],
  });

  await chmod(server.folder, 0o755);
  t.match(await asNobody(`--config ${server.config}`), { code: 77, stderr: /no permission to use/ });
  await server.stop();
  const away = await server.softquota([]);
  t.match(away, { code: 69, stdout: '' });
  t.ok(away.stderr.endsWith(`Start it with softquota serve --config ${server.config}\n`), away.stderr);
});

t.test('the help has the commands in five groups, the most used ones first', async t => {
  const server = await Server.open(t, { started: false });
  const { stdout } = await server.softquota('--help');
  const titles = stdout.match(/^[A-Z].*:$/gm);
  t.strictSame(titles, [
    'Options:',
    'Look at usage and events:',
    'Decide who may store more:',
    'Set limits, users and access:',
    'Operate the server:',
    'Install and run:',
  ]);
  t.match(stdout, /Look at usage and events:\n {2}usage /);
  t.match(stdout, /Operate the server:\n {2}doctor /);
  t.match(await server.softquota('usgae'), { code: 2, stderr: /Did you mean usage/ });
});
