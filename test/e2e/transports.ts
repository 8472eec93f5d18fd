/** Ways to reach a repository: its path, a real sshd, and git http-backend behind a web server. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from './ask.ts';
import { must, plainEnvironment } from './run.ts';
import type { Server } from './server.ts';

export interface Transport {
  url(bare: string): string;
  /** What git needs to get there. */
  readonly env: Readonly<Record<string, string>>;
}

export const transports: Readonly<Record<string, (t: Test, server: Server) => Promise<Transport>>> = {
  'file paths': async () => ({ url: bare => bare, env: {} }),
  'file URLs': async () => ({ url: bare => `file://${bare}`, env: {} }),
  ssh: openSsh,
  http: openHttp,
};

/** An sshd of its own on a loopback port: keys, settings and log in the server's folder. */
async function openSsh(t: Test, server: Server): Promise<Transport> {
  const folder = join(server.folder, 'ssh');
  await mkdir(folder, { mode: 0o700 });
  await mkdir('/run/sshd', { recursive: true });
  for (const key of ['host', 'user']) {
    await must('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, key)]);
  }
  const port = await freePort();
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(folder, 'host')}`,
    `AuthorizedKeysFile ${join(folder, 'user.pub')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
  ];
  await writeFile(join(folder, 'sshd_config'), `${settings.join('\n')}\n`);
  const daemon = (await must('sh', ['-c', 'command -v sshd'])).trim();
  const child = spawn(daemon, ['-D', '-e', '-f', join(folder, 'sshd_config')], {
    env: plainEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  await until(
    () => answers(port),
    () => `sshd does not come up:\n${log}`,
  );
  const ssh = `ssh -F none -i ${join(folder, 'user')} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`;
  return {
    url: bare => `ssh://${userInfo().username}@127.0.0.1:${port}${bare}`,
    env: { GIT_SSH_COMMAND: ssh },
  };
}

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // as it is of every TCP server that listens
  server.close();
  await once(server, 'close');
  return port;
}

function answers(port: number): Promise<true | null> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(null));
  });
}

/** git http-backend as a CGI program, as under any web server. */
async function openHttp(t: Test, server: Server): Promise<Transport> {
  const root = join(server.folder, 'git');
  const web = createServer((request, response) => void cgi(root, request, response)).listen(0, '127.0.0.1');
  await once(web, 'listening');
  t.teardown(() => {
    web.closeAllConnections();
    web.close();
  });
  const { port } = web.address() as AddressInfo; // as it is of every TCP server that listens
  return { url: bare => `http://127.0.0.1:${port}${bare.slice(root.length)}`, env: {} };
}

async function cgi(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const { headers } = request;
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: plainEnvironment.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'alice',
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: headers['content-type'] ?? '',
      ...(headers['content-length'] === undefined ? {} : { CONTENT_LENGTH: headers['content-length'] }),
      ...(headers['content-encoding'] === undefined
        ? {}
        : { HTTP_CONTENT_ENCODING: headers['content-encoding'] }),
      ...(headers['git-protocol'] === undefined ? {} : { GIT_PROTOCOL: String(headers['git-protocol']) }),
    },
  });
  child.stdin.on('error', () => {}); // it need not read all
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  const output = Buffer.concat(chunks);
  const end = output.indexOf('\r\n\r\n');
  response.statusCode = 200;
  for (const line of output.subarray(0, end).toString().split('\r\n')) {
    const [name = '', value = ''] = line.split(/: (.*)/);
    if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
    else response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
}
