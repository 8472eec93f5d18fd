/** Ways to reach a repository: its path, a real sshd, git http-backend behind web servers, and git daemon. */

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import type { Test } from 'tap';
import { served } from '../served.ts';
import { until } from './ask.ts';
import { must, plainEnvironment } from './run.ts';
import type { Server } from './server.ts';

export interface Transport {
  url(bare: string): string;
  /** Environment that git needs to get there. */
  readonly env: Readonly<Record<string, string>>;
}

interface TransportOptions {
  /** GIT_EXEC_PATH on the server, by which git's programs find each other. */
  readonly programs?: string;
  /** Command that runs git on the server, its command line following; git by itself unless given. */
  readonly through?: readonly string[];
}

type OpenTransport = (t: Test, server: Server, options?: TransportOptions) => Promise<Transport>;

export const transports = {
  'file paths': locally(bare => bare),
  'file URLs': locally(bare => `file://${bare}`),
  ssh: openSsh,
  http: openHttp,
  nginx: openNginx,
  'git daemon': openDaemon,
} as const satisfies Readonly<Record<string, OpenTransport>>;

/** There the clients run the server's side themselves. */
function locally(url: (bare: string) => string): OpenTransport {
  return async (_t, _server, { programs, through = [] } = {}) => {
    if (programs === undefined && through.length === 0) return { url, env: {} };
    const git = programs === undefined ? 'git' : `${programs}/git`;
    const config = { KEY: 'remote.origin.receivepack', VALUE: [...through, git, 'receive-pack'].join(' ') };
    return {
      url,
      env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: config.KEY, GIT_CONFIG_VALUE_0: config.VALUE },
    };
  };
}

/**
 * An sshd of its own on a loopback port: keys, settings and log in the server's folder. With `programs`
 * it is git-shell that everybody comes to.
 */
async function openSsh(
  t: Test,
  server: Server,
  { programs, through = [] }: TransportOptions = {},
): Promise<Transport> {
  const shell = programs === undefined ? 'sh' : 'git-shell';
  const isPlain = programs === undefined && through.length === 0;
  const folder = join(server.folder, 'ssh');
  await mkdir(folder, { mode: 0o700 });
  const key = await keyPair(folder, 'user');
  const { url, envOf } = await startSshd(t, folder, [
    `AuthorizedKeysFile ${key}.pub`,
    // HOME is a folder where no shell finds the tester's startup files.
    `SetEnv HOME=${folder}${programs === undefined ? '' : ` GIT_EXEC_PATH=${programs}`}`,
    ...(isPlain ? [] : [`ForceCommand ${[...through, shell].join(' ')} -c "$SSH_ORIGINAL_COMMAND"`]),
  ]);
  return { url, env: envOf(key) };
}

/** The path of the private key; that of the public one ends with `.pub`. */
export async function keyPair(folder: string, name: string): Promise<string> {
  const key = join(folder, name);
  await must('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', key]);
  return key;
}

/** An sshd on a loopback port, which says with `settings` who may come. */
export async function startSshd(
  t: Test,
  folder: string,
  settings: readonly string[],
): Promise<{ url(path: string): string; envOf(key: string): Readonly<Record<string, string>> }> {
  await mkdir('/run/sshd', { recursive: true });
  const host = await keyPair(folder, 'host');
  const port = await freePort();
  const all = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${host}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    'MaxStartups 1000',
    ...settings,
  ];
  await writeFile(join(folder, 'sshd_config'), `${all.join('\n')}\n`);
  const daemon = (await must('sh', ['-c', 'command -v sshd'])).trim();
  const child = spawn(daemon, ['-D', '-e', '-f', join(folder, 'sshd_config')], {
    env: plainEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await isUp(t, 'sshd', child, () => greets(port));
  const ssh = (key: string) =>
    `ssh -F none -i ${key} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`;
  return {
    url: path => `ssh://${userInfo().username}@127.0.0.1:${port}${path}`,
    envOf: key => ({ GIT_SSH_COMMAND: ssh(key) }),
  };
}

/** Resolves once the server answers, and ends it with the test. */
export async function isUp(
  t: Test,
  name: string,
  child: ChildProcessByStdio<null, null, Readable>,
  answers: () => Promise<true | null>,
): Promise<void> {
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  await until(answers, () => `${name} does not come up:\n${log}`);
}

/** Below those that the system gives to connections and to whoever asks for any port. */
const ports = { first: 10_240, last: 32_767 } as const;

/** A port that nobody has now, and that the system gives nobody else before it is used. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createTcpServer().listen(randomInt(ports.first, ports.last + 1), '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    const { port } = server.address() as AddressInfo; // as it is of every TCP server that listens
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Tells whether somebody says a first word there. */
function greets(port: number): Promise<true | null> {
  return happens('data', connect(port, '127.0.0.1'));
}

function happens(event: 'connect' | 'data', socket: Socket): Promise<true | null> {
  return new Promise(resolve => {
    socket.once(event, () => {
      socket.destroy();
      resolve(true);
    });
    // A server may also hang up without a word.
    socket.once('error', () => {}).once('close', () => resolve(null));
  });
}

/** git daemon, as docs/receive-pack.md has it started. */
async function openDaemon(t: Test, server: Server, { programs }: TransportOptions = {}): Promise<Transport> {
  const root = join(server.folder, 'git');
  const port = await freePort();
  const program = join(await must('git', ['--exec-path']), 'git-daemon');
  const where = ['--reuseaddr', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${root}`];
  const child = spawn(program, [...where, '--export-all', '--enable=receive-pack'], {
    env: {
      ...plainEnvironment,
      ...(programs === undefined ? {} : { PATH: `${programs}:${plainEnvironment.PATH}` }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await isUp(t, 'git daemon', child, () => happens('connect', connect(port, '127.0.0.1')));
  return { url: bare => `git://127.0.0.1:${port}${bare.slice(root.length)}`, env: {} };
}

/** git http-backend as a CGI program, as under any web server. */
async function openHttp(
  t: Test,
  server: Server,
  { programs, through = [] }: TransportOptions = {},
): Promise<Transport> {
  const root = join(server.folder, 'git');
  const backend = [...through, await httpBackend()];
  const own = {
    GIT_PROJECT_ROOT: root,
    ...(programs === undefined ? {} : { GIT_EXEC_PATH: programs }),
  };
  const running = new Set<ChildProcess>();
  const web = createServer((request, response) => {
    const child = cgi(backend, own, request, response);
    running.add(child);
    child.once('exit', () => running.delete(child));
  });
  const port = await served(t, web);
  t.teardown(() => {
    for (const child of running) child.kill();
  });
  return { url: bare => `http://127.0.0.1:${port}${bare.slice(root.length)}`, env: {} };
}

async function httpBackend(): Promise<string> {
  return join(await must('git', ['--exec-path']), 'git-http-backend');
}

function cgi(
  [program = '', ...args]: readonly string[],
  own: Readonly<Record<string, string>>,
  request: IncomingMessage,
  response: ServerResponse,
): ChildProcess {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const { headers } = request;
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...own,
      PATH: plainEnvironment.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
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
  pipeline(request, child.stdin, () => {}); // it need not read all
  // Web servers end a program whose client is gone; git http-backend would wait without end for what did not
  // reach it, also where the server had it already.
  response.on('close', () => {
    child.stdout.destroy();
    if (!child.stdin.writableFinished) child.kill();
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.once('close', () => answer(Buffer.concat(chunks), response));
  return child;
}

/** Sends what a CGI program printed. */
function answer(output: Buffer, response: ServerResponse): void {
  const end = output.indexOf('\r\n\r\n');
  if (end === -1) return void response.destroy(); // it was ended
  response.statusCode = 200;
  for (const line of output.subarray(0, end).toString().split('\r\n')) {
    const [name = '', value = ''] = line.split(/: (.*)/);
    if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
    else response.setHeader(name, value);
  }
  response.end(output.subarray(end + 4));
}

/**
 * nginx and fcgiwrap, with the settings that docs/receive-pack.md shows; all of their files in the server's
 * folder.
 */
async function openNginx(t: Test, server: Server, { programs }: TransportOptions = {}): Promise<Transport> {
  const folder = join(server.folder, 'nginx');
  await mkdir(folder, { recursive: true });
  const socket = join(folder, 'fcgiwrap.sock');
  const wrapper = spawn('fcgiwrap', ['-s', `unix:${socket}`], {
    env: { PATH: plainEnvironment.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await isUp(t, 'fcgiwrap', wrapper, () => happens('connect', connect(socket)));
  const root = join(server.folder, 'git');
  const parameters = {
    SCRIPT_FILENAME: await httpBackend(),
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    REQUEST_METHOD: '$request_method',
    PATH_INFO: '$uri',
    QUERY_STRING: '$query_string',
    CONTENT_TYPE: '$content_type',
    CONTENT_LENGTH: '$content_length',
    REMOTE_ADDR: '$remote_addr',
    REMOTE_USER: 'alice',
    ...(programs === undefined ? {} : { GIT_EXEC_PATH: programs }),
  };
  const port = await startNginx(
    t,
    folder,
    `client_max_body_size 0;
    fastcgi_request_buffering off;
    location / {
      ${Object.entries(parameters)
        .map(([name, value]) => `fastcgi_param ${name} ${value};`)
        .join(' ')}
      fastcgi_pass unix:${socket};
    }`,
  );
  return { url: bare => `http://127.0.0.1:${port}${bare.slice(root.length)}`, env: {} };
}

/**
 * An nginx on a loopback port, which it gives: `server` says what is served there, `http` what stands above
 * it, and all of its files are in the folder.
 */
export async function startNginx(t: Test, folder: string, server: string, http = ''): Promise<number> {
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const temporary = ['client_body', 'fastcgi', 'proxy', 'scgi', 'uwsgi'];
  const settings = `
    daemon off; master_process off; pid ${folder}/pid; error_log stderr;
    events {}
    http {
      access_log off;
      ${http}
      ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
      server {
        listen 127.0.0.1:${port};
        ${server}
      }
    }`;
  await writeFile(join(folder, 'nginx.conf'), settings);
  const web = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    env: plainEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await isUp(t, 'nginx', web, () => happens('connect', connect(port, '127.0.0.1')));
  return port;
}

/**
 * A Caddy on a loopback port, which it gives: `site` says what is served there, `beside` what else there is.
 */
export async function startCaddy(t: Test, folder: string, site: string, beside = ''): Promise<number> {
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const settings = `{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2c\n\t}\n}\n${beside}\nhttp://127.0.0.1:${port} {\n${site}\n}\n`;
  await writeFile(join(folder, 'Caddyfile'), settings);
  const web = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    env: { ...plainEnvironment, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await isUp(t, 'caddy', web, () => happens('connect', connect(port, '127.0.0.1')));
  return port;
}
