/**
 * Chooses the program by which hooks send requests to the gate's socket. OpenBSD's netcat starts faster than
 * curl, but other programs have the same name: so it is tried as the hooks run it, at a socket of our own.
 */

import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../bounded/index.ts';
import { beforeFollow } from '../../layout/index.ts';
import { type Client, clients, defaultSettings, headLines } from './hook.ts';

/** The folders in which hooks look for programs. */
export const programFolders: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin'];

/** Finds the fastest program in these folders that works as the hooks need it; null if none does. */
export async function findClient(folders = programFolders): Promise<Client | null> {
  for (const client of clients) if (await asks(client, folders)) return client;
  return null;
}

const text = 'tried\n';
/** More than fits into one write to a socket, as the lines of a push with many refs may be. */
const question = 'x'.repeat(300_000);

/** Tells whether the program sends a question, prints the answer, and ends when the time is over. */
export async function asks(client: Client, folders: readonly string[] = programFolders): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'softquota-'));
  try {
    const ask = async (behave: (socket: Socket) => void): Promise<string> => {
      const socket = join(folder, behave.name);
      const server = await serve(socket, behave);
      try {
        const head = headLines({ ...defaultSettings, socket, client });
        const request = `request() { printf 'POST /v1/push HTTP/1.0\\r\\nContent-Length: ${question.length}\\r\\n\\r\\n' && cat; }`;
        const script = `PATH=${folders.join(':')} left=1\n${head}${request}\ncall`;
        const options = { input: question, timeoutMs: trialMs, env: { LC_ALL: 'C' } };
        return (await runProgram('/bin/sh', ['-c', script], options)).output;
      } finally {
        server.close();
      }
    };
    const [whole, none] = await Promise.all([ask(answers), ask(isSilent)]);
    return whole?.startsWith('HTTP/1.') === true && whole.endsWith(`\r\n\r\n${text}`) && none === '';
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const trialMs = 5000;

function answers(socket: Socket): void {
  let asked = '';
  socket.on('data', data => {
    asked += data.toString('latin1');
    if (asked.endsWith(`\r\n\r\n${question}`))
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
  });
}

function isSilent(socket: Socket): void {
  socket.resume();
}

async function serve(path: string, behave: (socket: Socket) => void): Promise<Server> {
  const server = createServer(socket => {
    // The client may close the connection during the answer.
    socket.on('error', () => {});
    behave(socket);
  });
  await once(server.unref().listen(path), 'listening');
  return server;
}

export function findProgram(name: string, folders: readonly string[]): string | null {
  return folders.map(folder => join(folder, name)).find(file => isAccessible(file, constants.X_OK)) ?? null;
}

/** Returns false also on a disk that does not answer. `mode`: as of access(2). */
export function isAccessible(file: string, mode = constants.F_OK): boolean {
  try {
    beforeFollow(file);
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}
