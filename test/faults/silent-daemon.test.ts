/** A daemon that takes connections and does not answer keeps no command waiting for ever. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { launcher } from '../e2e/daemon.ts';
import { type Run, run } from '../e2e/run.ts';
import { temporaryFolder } from '../temporary-folder.ts';

t.setTimeout(400_000);
// They do nothing but wait, all of them at once.
t.jobs = 8;

type Serve = (socket: Socket) => void;

/** Something that listens where the daemon would, and does this with each connection. */
async function listening(t: Test, serve: Serve): Promise<string> {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  mkdirSync(data);
  writeFileSync(join(folder, 'app.ini'), `[server]\nDATA_PATH = ${data}\n`);
  const sockets = new Set<Socket>();
  for (const name of ['gate', 'trusted', 'admin']) {
    const server = createServer(socket => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
      serve(socket);
    });
    await new Promise<void>(resolve => server.listen(join(data, `${name}.sock`), resolve));
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
  }
  return folder;
}

/** Killed after long enough, so that a command which never ends fails the test. */
function softquota(args: readonly string[], folder: string): Promise<Run> {
  const env = { SOFTQUOTA_CONFIG: join(folder, 'app.ini') };
  return run('timeout', ['-s', 'KILL', '150', process.execPath, launcher, ...args], { cwd: folder, env });
}

const nothing: Serve = () => {};

/** Answers that never come to their end. */
const answers: Readonly<Record<string, Serve>> = {
  'nothing is answered': nothing,
  'headers that come a few bytes at a time, and never end': socket => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write('X-More: 1\r\n'), 1000);
    socket.on('close', () => clearInterval(timer));
  },
  'an answer that breaks off in silence': socket =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[{'),
};
const cases = [
  ...Object.entries(answers).map(([what, serve]) => [what, serve, ['usage']] as const),
  ['nothing is answered', nothing, ['backup', '-']],
  ['nothing is answered', nothing, ['check', 'alice', '--subject', 'size:all']],
] as const;

for (const [what, serve, args] of cases) {
  t.test(`${what}: ${args.join(' ')}`, { buffered: true }, async t => {
    const folder = await listening(t, serve);
    const { code, stdout, stderr } = await softquota(args, folder);
    t.equal(code, 69, stderr);
    t.match(stderr, /no daemon answers at .*data\/(admin|gate)\.sock \(no answer within 30 s\)/);
    t.equal(stdout, '');
  });
}

const running = {
  id: 1,
  kind: 'sweep',
  state: 'running',
  started_at: null,
  finished_at: null,
  progress: {
    units: 0,
    units_found: 0,
    discovering: true,
    directories: 0,
    files: 0,
    bytes: 0,
    entries_per_second: 0,
    bytes_per_second: 0,
    estimate_seconds: null,
  },
  unread: { first: [], count: 0 },
  faults: { first: [], count: 0 },
  held: { first: [], count: 0 },
  drift: null,
  error: null,
};

for (const [title, end] of [
  ['falls silent', nothing],
  ['is killed', (socket: Socket) => socket.end()],
] as const) {
  t.test(`a daemon that ${title} while a scan is followed`, { buffered: true }, async t => {
    const folder = await listening(t, socket => {
      socket.once('data', request => {
        if (request.toString().startsWith('POST')) {
          const body = JSON.stringify(running);
          socket.end(
            `HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
          return;
        }
        const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n';
        socket.write(head, () => end(socket));
      });
    });
    const { code, stderr } = await softquota(['scan'], folder);
    t.equal(code, 69, stderr);
    t.match(stderr, /no daemon answers at .*admin\.sock \((no answer within 30 s|aborted)\)/);
  });
}

t.test('doctor says that the daemon does not answer, and looks at all else', { buffered: true }, async t => {
  const folder = await listening(t, () => {});
  const { code, stdout, stderr } = await softquota(['doctor', '--json'], folder);
  t.equal(code, 1, stderr);
  const codes: string[] = JSON.parse(stdout).map(({ code }: { code: string }) => code);
  t.equal(codes.filter(code => code === 'daemon_away').length, 2, 'neither the daemon nor its gate');
  t.ok(codes.includes('no_storage'), stdout);
});
