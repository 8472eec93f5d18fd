/**
 * Nobody answers, or somebody answers nonsense: the hook's declared policy, within its time-out, in one line.
 */

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server as NetServer } from 'node:net';
import t from 'tap';
import { Clone } from '../e2e/clone.ts';
import { Server } from '../e2e/server.ts';

/** The hook's time, within which it asks again where nobody answers. */
const timeoutSeconds = 5;

t.jobs = 2;

async function listening(path: string, answer: string | null): Promise<NetServer> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    if (answer !== null) socket.end(answer);
  });
  server.listen(path);
  await once(server, 'listening');
  return server;
}

const answers = {
  'answers 500': 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops',
  'answers 503': 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n',
  'answers nonsense': '\u0000\u001b[31mSSH-2.0-OpenSSH_9\r\n',
  'answers nothing': '',
  'says nothing': null,
};

for (const policy of ['allow', 'deny'] as const) {
  t.test(
    `with onError = ${policy} a push ${policy === 'allow' ? 'passes' : 'is refused'} in time and with one line when the daemon cannot be asked`,
    { buffered: true },
    async t => {
      const server = await Server.open(t, { started: false });
      const bare = await server.repository('alice/app');
      await server.installHooks('--on-error', policy);
      const clone = await Clone.of(server, bare);

      const spare = 2500; // what git itself and a busy host may take
      const pushed = async (what: string) => {
        await clone.commit(100);
        const push = await clone.push();
        t.equal(push.code, policy === 'allow' ? 0 : 1, what);
        t.match(push.said, /^softquota: the quota could not be checked, so this push is [^\n]+\.$/, what);
        t.ok(push.elapsedMs < timeoutSeconds * 1000 + spare, `${what}: ${Math.round(push.elapsedMs)} ms`);
        t.notMatch(push.said, /\u001b/);
      };
      await pushed('no daemon');
      for (const [what, answer] of Object.entries(answers)) {
        const fake = await listening(server.socket('gate'), answer);
        await pushed(`what listens ${what}`);
        fake.close();
        await rm(server.socket('gate'), { force: true });
      }
      await server.start();
      const { daemon } = server;
      daemon.child.kill('SIGSTOP');
      await pushed('a stopped daemon');
      daemon.child.kill('SIGCONT');
      await clone.commit(100);
      t.match(await clone.push(), { code: 0, said: '' }, 'and when it goes on, all is as before');
      await server.stop('SIGKILL');
      await pushed('a killed daemon whose socket is left');
    },
  );
}

t.test('without a daemon deleting passes under onError = deny too', async t => {
  const server = await Server.open(t, { started: false });
  const bare = await server.repository('alice/app');
  const clone = await Clone.of(server, bare);
  await clone.commit(100);
  await clone.push(['main', 'main:refs/heads/other']);
  await server.installHooks('--on-error', 'deny');
  t.match(await clone.push(['--delete', 'other']), { code: 0, said: '' });
});
