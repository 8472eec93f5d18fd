/** Stores and files that a daemon does not start on, and leaves as they are. */

import t from 'tap';
import { Clone } from '../e2e/clone.ts';
import { Server } from '../e2e/server.ts';

t.test(
  'a second daemon on the same DATA_PATH or the same socket is refused, and the first goes on',
  async t => {
    const server = await Server.open(t, { repositories: ['alice/app'] });
    const second = await server.startInVain();
    t.equal(second.code, 78);
    const other = await Server.open(t, {
      started: false,
      ini: { server: { SOCKET: server.socket('gate') } },
    });
    const third = await other.startInVain();
    t.equal(third.code, 78);
    t.match(third.log, /\[server\] SOCKET = .*another process uses it/);
    t.ok(server.daemon.isRunning);
    const clone = await Clone.of(server, server.path('alice/app'));
    await clone.commit(1_500_000);
    t.match(await clone.push(), { code: 0, said: '' });
    await server.usageIs('alice', used => used > 1_500_000);
    await clone.commit(1);
    t.equal((await clone.push()).code, 1);
  },
);
