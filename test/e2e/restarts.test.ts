/**
 * Restarts under a socket that the service manager holds open: who asks meanwhile waits, and is answered.
 *
 * Each push proves that it was asked about: its owner is near the limit, so that the daemon's answer is a
 * warning that the pusher reads.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { ask, until } from './ask.ts';
import { Clone, type Push } from './clone.ts';
import { Server } from './server.ts';

const restarts = isLong ? 100 : 3;

t.setTimeout(isLong ? 1_200_000 : 240_000);

/**
 * The service manager's part between two lives of the daemon, which systemd-socket-activate has none of:
 * whenever it ends, it is started again on the same sockets, until SIGTERM. $0 is the file for the daemon's
 * process id.
 */
const again = `
trap 'ended=yes; kill "$daemon"' TERM
ended=no
while [ "$ended" = no ]; do
	sh -c 'LISTEN_PID=$$ exec "$@"' sh "$@" &
	daemon=$!
	echo "$daemon" >"$0"
	wait "$daemon"
done
wait "$daemon"
`;

t.test(`over ${restarts} restarts pushes wait: none fails, and none goes unasked`, async t => {
  const names = ['alice/one', 'alice/two'];
  const server = await Server.open(t, {
    ini: { 'quota.default': { TOTAL: '1G' } },
    repositories: names,
    started: false,
  });
  const [gate, pidFile] = [server.socket('gate'), join(server.folder, 'pid')];
  const sockets = ['-l', gate, '-l', server.socket('trusted'), '--fdname=gate:trusted'];
  const daemon = server.startOnDemand({
    through: ['systemd-socket-activate', ...sockets, 'sh', '-c', again, pidFile],
  });
  await until(() => ask(gate, '/healthz').catch(() => null));
  await server.ready();
  await server.reports('alice', 900_000_000, { subject: 'size:assets:packages:all', unit: 'npm' });

  let isOver = false;
  const pushes: Push[] = [];
  const pushOn = async (name: string) => {
    const clone = await Clone.of(server, server.path(name));
    while (!isOver) {
      await clone.commit(100);
      pushes.push(await clone.push());
    }
  };
  /** A handler that asks without a pause, each time over a new connection. */
  const askOn = async () => {
    while (!isOver) {
      const { status, headers } = await ask(gate, '/v1/check?owner=alice&subject=size:git:lfs');
      if (status !== 200 || headers['x-softquota-decision'] !== 'allowed')
        throw new Error(`status ${status}`);
    }
  };
  /** Resolves after so many more pushes. */
  const pushed = (more: number) => {
    const goal = pushes.length + more;
    return until(() => (pushes.length >= goal ? true : null));
  };
  const restart = async () => {
    for (let n = 0; n < restarts; n++) {
      // Sometimes at once, sometimes while all is quiet again.
      await pushed(n % 3);
      const from = daemon.lines.length;
      process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGTERM');
      await daemon.logged(/^softquota answers/, from);
    }
    await pushed(names.length);
    isOver = true;
  };
  await Promise.all([restart(), askOn(), ...names.map(pushOn)]).finally(() => {
    isOver = true;
  });

  const failed = pushes.filter(({ code }) => code !== 0);
  t.strictSame(failed, [], 'none fails');
  const unasked = pushes.filter(
    ({ said }) => !/^Quota warning: alice uses \d+(\.\d+)? MB of 1 GB/.test(said),
  );
  t.strictSame(unasked, [], 'none goes unasked: each has the daemon’s answer');
  t.notOk(pushes.some(({ said }) => said.includes('could not be checked')));
  const starts = daemon.lines.filter(({ msg }) => msg.startsWith('softquota answers')).length;
  t.equal(starts, restarts + 1, 'each restart was one');
  t.ok(pushes.length >= restarts, `${pushes.length} pushes`);
});
