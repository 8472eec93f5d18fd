/** Messages to the service manager, and those that it does not get. */

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import t, { type Test } from 'tap';
import { Supervision } from '../../src/service/index.ts';
import { until } from '../e2e/ask.ts';
import { Gate, plain, silent } from '../hooks/gate.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Manager } from './manager.ts';

const ready = plain(200, JSON.stringify({ status: 'ok', reasons: [] }));

interface World {
  readonly folder: string;
  readonly manager: Manager;
  readonly socket: string;
  /** Messages that were logged. */
  readonly logged: string[];
  begun(env?: Readonly<Record<string, string>>): Supervision;
}

async function worldOf(t: Test): Promise<World> {
  const folder = temporaryFolder(t);
  const manager = await Manager.open(t, join(folder, 'notify'));
  const socket = join(folder, 'gate.sock');
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => logged.push(JSON.parse(line).msg) });
  const begun = (env: Readonly<Record<string, string>> = {}) => {
    const given = { PATH: process.env.PATH ?? '', NOTIFY_SOCKET: manager.socket, ...env };
    const supervision = new Supervision({ env: given, pid: 7, socket, log });
    t.teardown(() => {
      supervision.stopping();
      return supervision.close();
    });
    supervision.begin();
    return supervision;
  };
  return { folder, manager, socket, logged, begun };
}

async function gateOf(t: Test, { socket }: World): Promise<Gate> {
  const gate = await Gate.open(socket);
  t.teardown(() => gate.close());
  gate.answer = ready;
  return gate;
}

/** A systemd-notify that does this, in a folder that comes first in PATH. */
async function standIn({ folder }: World, script: string): Promise<{ readonly PATH: string }> {
  const file = join(folder, 'systemd-notify');
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return { PATH: `${folder}:${process.env.PATH}` };
}

t.test('the manager hears READY=1 once the gate answers over a connection, and not before', async t => {
  const world = await worldOf(t);
  world.begun();
  await until(() => (world.logged.length > 0 ? true : null));
  t.match(world.logged, [/^the gate does not answer softquota itself/]);
  t.strictSame(world.manager.notices, []);
  const gate = await gateOf(t, world);
  t.strictSame(await world.manager.told('READY=1'), ['READY=1', 'STATUS=Answers', 'WATCHDOG=1']);
  t.strictSame(
    gate.questions.map(({ path }) => path),
    ['/readyz'],
    'without a watchdog it is not asked again',
  );
  t.equal(world.logged.length, 1);
});

t.test('what is no gate does not make it ready', async t => {
  const world = await worldOf(t);
  const gate = await gateOf(t, world);
  gate.answer = plain(200, '<html>');
  world.begun();
  await until(() => (gate.questions.length > 3 ? true : null));
  t.strictSame(world.manager.notices, []);
  t.equal(world.logged.length, 1, 'which is logged once');
});

t.test('why answers cannot be relied on is in the status, harmless for a terminal', async t => {
  const world = await worldOf(t);
  const gate = await gateOf(t, world);
  gate.answer = plain(503, JSON.stringify({ reasons: ['no sweep has finished yet', 'evil\nREADY=0\u202e'] }));
  world.begun();
  const notice = await world.manager.told('READY=1');
  t.equal(notice[1], 'STATUS=Answers, but no sweep has finished yet; evil\\u{a}READY=0\\u{202e}');
  t.equal(notice.length, 3);
});

t.test('the watchdog is fed while the gate answers, and only then', async t => {
  const world = await worldOf(t);
  const { manager, logged } = world;
  const gate = await gateOf(t, world);
  world.begun({ WATCHDOG_USEC: '300000', WATCHDOG_PID: '7' });
  await manager.told('READY=1');
  await manager.told('WATCHDOG=1', 3);
  gate.answer = silent;
  // One that was answered before may still be on its way.
  const asked = gate.questions.length;
  await until(() => (gate.questions.length >= asked + 3 ? true : null));
  const fed = manager.notices.length;
  const later = gate.questions.length;
  await until(() => (gate.questions.length >= later + 3 ? true : null));
  t.equal(manager.notices.length, fed, 'not while it is silent');
  t.match(logged, [/does not answer/], 'which is logged once');
  gate.answer = ready;
  await manager.told('WATCHDOG=1', fed);
  t.pass('again once it answers');
});

t.test('a watchdog for another process is not fed', async t => {
  const world = await worldOf(t);
  const gate = await gateOf(t, world);
  const supervision = world.begun({ WATCHDOG_USEC: '3000', WATCHDOG_PID: '8' });
  await world.manager.told('READY=1');
  supervision.reloaded();
  await world.manager.told('READY=1', 1);
  t.equal(gate.questions.length, 1);
});

t.test('reloading and stopping are told in their order, and nothing after that', async t => {
  const world = await worldOf(t);
  await gateOf(t, world);
  const supervision = world.begun();
  supervision.reloading();
  supervision.reloaded();
  await world.manager.told('READY=1');
  await supervision.close();
  supervision.reloading();
  supervision.reloaded();
  await supervision.close();
  supervision.stopping();
  supervision.reloading();
  supervision.reloaded();
  await supervision.close();
  await world.manager.told('STOPPING=1');
  t.strictSame(world.manager.order, ['READY=1', 'WATCHDOG=1', 'RELOADING=1', 'READY=1', 'STOPPING=1']);
});

t.test('of what waits behind a slow telling only the newest is told', async t => {
  const world = await worldOf(t);
  await gateOf(t, world);
  const log = join(world.folder, 'log');
  const go = join(world.folder, 'go');
  const supervision = world.begun(
    await standIn(world, `echo "$1" >>${log}; while ! [ -e ${go} ]; do sleep 0.01; done`),
  );
  const lines = async () => (await readFile(log, 'utf8').catch(() => '')).trim();
  await until(async () => ((await lines()) === 'READY=1' ? true : null));
  for (let n = 0; n < 50; n++) {
    supervision.reloading();
    supervision.reloaded();
  }
  supervision.stopping();
  await writeFile(go, '');
  await supervision.close();
  t.equal(await lines(), 'READY=1\nSTOPPING=1');
});

t.test('a systemd-notify that fails, hangs or is missing is logged once, and holds nothing up', async t => {
  const scripts = { fails: 'exit 3', hangs: 'exec sleep 1000' };
  for (const [what, script] of Object.entries(scripts)) {
    const world = await worldOf(t);
    await gateOf(t, world);
    const supervision = world.begun(await standIn(world, script));
    await until(() => (world.logged.length > 0 ? true : null));
    supervision.stopping();
    await supervision.close();
    t.match(world.logged, [/^systemd-notify fails/], what);
    t.equal(world.logged.length, 1, what);
  }
  const world = await worldOf(t);
  await gateOf(t, world);
  world.begun({ PATH: '/nowhere' });
  await until(() => (world.logged.length > 0 ? true : null));
  t.match(world.logged, [/^systemd-notify fails/]);
});

t.test('without a service manager nothing is asked and nothing is run', async t => {
  const world = await worldOf(t);
  const gate = await gateOf(t, world);
  const supervision = world.begun({
    NOTIFY_SOCKET: '',
    WATCHDOG_USEC: '3000',
    ...(await standIn(world, `touch ${join(world.folder, 'ran')}`)),
  });
  supervision.reloading();
  supervision.reloaded();
  supervision.stopping();
  await supervision.close();
  t.strictSame(gate.questions, []);
  await t.rejects(readFile(join(world.folder, 'ran')), { code: 'ENOENT' });
});

t.test('no child of the daemon believes that the manager’s variables are meant for it', async t => {
  const env = { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '1', WATCHDOG_PID: '7', HOME: '/' };
  new Supervision({ env, pid: 7, socket: '/nowhere', log: pino({ level: 'silent' }) });
  t.strictSame(env, { HOME: '/' });
});
