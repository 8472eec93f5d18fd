/**
 * `softquota health` and /readyz, which health checks and scripts go by, and what the daemon tells a service
 * manager.
 */

import { cp, rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { Manager } from '../service/manager.ts';
import { until } from './ask.ts';
import { mayPush } from './fleet-hosts.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

t.test('health is 0 while the gate answers, with --ready while its answers can be relied on', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  t.match(await server.softquota('health'), { code: 0, stdout: 'ok\n', stderr: '' });
  t.match(await server.softquota('health --ready'), { code: 0, stdout: 'ok\n', stderr: '' });

  await rename(join(server.folder, 'git'), join(server.folder, 'git.away'));
  await server.scan();
  t.equal((await server.softquota('health')).code, 0, 'it answers all the same');
  const ready = await server.softquota('health --ready');
  t.match(ready, { code: 1, stdout: /^not ready\nstorage root .*\/git: / });
  const json = await server.softquota('health --ready --json');
  t.match(JSON.parse(json.stdout), { status: 'not ready', reasons: [/storage root/] });
});

t.test('a unit that nothing can be read of is told by scan, /readyz, doctor and its owner', async t => {
  const server = await Server.open(t, { started: false });
  const unit = await server.repository('alice/app');
  await must('chown', ['-R', '65534:65534', server.folder]);
  // Its names are known, and so it is a repository; but they cannot be listed.
  await must('chown', ['root', unit]);
  await must('chmod', ['711', unit]);
  await server.start({ through: ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] });
  const readyz = async () => JSON.parse((await server.ask('gate', '/readyz')).text);
  const isPartial = async () =>
    JSON.parse((await server.ask('trusted', '/v1/usage?owner=alice')).text).partial;

  t.match(await server.softquota('scan'), { code: 1, stdout: /\n1 unit could not be measured at all, / });
  t.match(await readyz(), {
    status: 'ok',
    notes: [/^1 unit could not be measured at all, and 0 bytes count/],
  });
  t.match(await server.softquota('doctor'), {
    code: 1,
    stdout: new RegExp(`wrong \\(unread\\): ${unit}: EACCES`),
  });
  t.equal(await isPartial(), true);

  await must('chmod', ['755', unit]);
  t.match(await server.softquota('scan'), { code: 0 });
  t.match(await readyz(), { notes: [] });
  t.equal(await isPartial(), false);
});

t.test('what GitLab makes later is waited for, and counts within five seconds when it comes', async t => {
  const server = await Server.open(t, { started: false });
  const [git, hash] = [join(server.folder, 'git'), 'ab/cd/abcd'];
  const all = ['@hashed', '@snippets', '@pools', '@mistyped'].map(kind => `${git}/${kind}/*/*/{repo}.git`);
  await server.configure({ 'storage.repos': { PATH: all.join(', '), OWNER: 'fixed team' } });
  const first = await server.repository(`@hashed/${hash}`);
  await server.start();
  await server.scan();
  t.equal(await server.reasons(), '', '/readyz is 200');
  const found = async () => {
    const findings = JSON.parse((await server.softquota('doctor --json')).stdout);
    return findings
      .filter(({ code }: { code: string }) => /^root_|unread/.test(code))
      .map(({ code, message }: Record<string, string>) => `${code} ${message}`);
  };
  const mistyped = `root_unused storage root ${git}/@mistyped: it is not there, so its PATH matches nothing yet`;
  t.strictSame(await found(), [mistyped]);
  for (const kind of ['@snippets', '@pools']) {
    const before = await server.usage('team');
    await cp(first, join(git, kind, `${hash}.git`), { recursive: true });
    const since = performance.now();
    await until(async () => ((await server.usage('team')) > before ? true : null));
    t.ok(performance.now() - since < 5000, `${kind}: after ${Math.round(performance.now() - since)} ms`);
  }
  await server.scan();
  t.equal(await server.reasons(), '');
  t.strictSame(await found(), [mistyped]);
});

t.test('health is 1 where the daemon does not answer, or something else does', async t => {
  const server = await Server.open(t, { started: false });
  t.match(await server.softquota('health'), { code: 1, stdout: /^no answer\nno daemon answers at / });
  const other = createServer((_request, response) => response.end('{"status":1}'));
  await new Promise<void>(resolve => other.listen(server.socket('gate'), resolve));
  t.teardown(() => other.close());
  t.match(await server.softquota('health'), {
    code: 1,
    stdout: 'no answer\nthe answer is not from a gate\n',
  });
});

t.test('serve tells the service manager that it answers, reads anew, lives and stops', async t => {
  const server = await Server.open(t, { started: false });
  const manager = await Manager.open(t, join(server.folder, 'notify'));
  const daemon = await server.start({ env: { NOTIFY_SOCKET: manager.socket, WATCHDOG_USEC: '600000' } });
  t.match(await manager.told('READY=1'), ['READY=1', /^STATUS=Answers/, 'WATCHDOG=1']);
  t.match(await manager.told('WATCHDOG=1', 1), [/^STATUS=Answers/, 'WATCHDOG=1']);
  const before = manager.notices.length;
  daemon.child.kill('SIGHUP');
  await manager.told('READY=1', before);
  t.equal((await server.stop()).code, 0);
  await manager.told('STOPPING=1');
  t.equal(manager.order.at(-1), 'STOPPING=1', 'which is the last word');
  t.notMatch(daemon.log, /systemd-notify fails|does not answer/);
});

t.test('a fault that nobody waited for is in the log, and the daemon goes on', async t => {
  const server = await Server.open(t, { started: false, repositories: ['alice/app'] });
  // At a signal something rejects of which nobody asks what became of it.
  const missed = "process.on('SIGUSR2', () => void Promise.reject(new Error('a missed fault')));";
  const daemon = await server.start({
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(missed)}` },
  });
  daemon.child.kill('SIGUSR2');
  const line = await daemon.logged(/internal error/);
  t.match(line, { level: 50, err: { message: 'a missed fault' } });
  t.ok(await mayPush(server, 'alice'));
  t.ok(daemon.isRunning);
});
