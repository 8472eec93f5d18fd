/**
 * The program by which hooks ask at the gate's socket. netcat and socat start more quickly than curl, but
 * other programs have the same names: each is tried as the hooks run it, at a socket of our own.
 */

import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../bounded/index.ts';

/** The quickest first; curl does what the others cannot. */
const clients = ['nc', 'socat', 'curl'] as const;

export type Client = (typeof clients)[number];

export type QuickClient = Exclude<Client, 'curl'>;

/** Where the hooks look first for programs of the system. */
export const programFolders: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin'];

export function isClient(text: string): text is Client {
  return clients.some(client => client === text);
}

/** The quickest program in these folders that asks as the hooks need it. */
export async function findClient(folders = programFolders): Promise<Client> {
  for (const client of clients) {
    if (client === 'curl' || (await clientFault(client, folders)) === null) return client;
  }
  return 'curl';
}

/** Arguments as in `scripts/hooks/fragments/calling.sh`. */
export const clientArguments: Readonly<Record<QuickClient, (socket: string) => readonly string[]>> = {
  nc: socket => ['-U', '-W', '4', socket],
  socat: socket => ['-b', '16384', '-t', '60', '-', `UNIX-CONNECT:${socket},shut-none,readbytes=65536`],
};

const trialMs = 2000;
const request = 'GET /v1/check HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntried';
const mostBytes = 256 * 1024;

/** Returns why the hooks cannot ask by this program; null if they can. */
export async function clientFault(
  client: QuickClient,
  folders: readonly string[] = programFolders,
): Promise<string | null> {
  // By it the hooks know how much of their time is left.
  if (!existsSync('/proc/uptime')) return 'there is no /proc/uptime';
  const program = findProgram(client, folders);
  if (program === null) return `${client} is not in ${folders.join(', ')}`;
  const fault = `${program} does not ask at a socket as the hooks need it`;
  let folder: string | null = null;
  try {
    folder = await mkdtemp(join(tmpdir(), 'softquota-'));
    const at = folder;
    const ask = async (behave: Behaviour) => {
      const socket = join(at, behave.name);
      const server = await serve(socket, behave);
      try {
        const options = { input: request, timeoutMs: trialMs, mostBytes, env: { LC_ALL: 'C' } };
        return (await runProgram(program, clientArguments[client](socket), options)).output;
      } finally {
        server.close();
      }
    };
    const all = await Promise.all([ask(tellsThenEnds), ask(endsAtOnce), ask(neverEnds)]);
    return isWell(all) ? null : fault;
  } catch {
    return fault;
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
}

type Behaviour = (socket: Socket) => void;

function tellsThenEnds(socket: Socket): void {
  let asked = '';
  socket.on('data', data => {
    asked += data.toString('latin1');
    if (asked === request) socket.end(answer);
  });
}

function endsAtOnce(socket: Socket): void {
  socket.destroy();
}

function neverEnds(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write('x'.repeat(16 * 1024)));
  };
  socket.on('drain', more);
  more();
}

function isWell([whole, none, cut]: readonly string[]): boolean {
  return whole === answer && none === '' && cut !== undefined && cut.length > 0;
}

function serve(path: string, behave: Behaviour): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, socket => {
    // The other side may go away while something is told to it.
    socket.on('error', () => {});
    behave(socket);
  });
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(path, () => resolve(server));
  });
}

/** The path of a program in the first folder that has it; null where none has. */
export function findProgram(name: string, folders: readonly string[]): string | null {
  return folders.map(folder => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
