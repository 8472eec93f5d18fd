/** Pushes whose client is the test itself: it stops, drips or hangs up wherever it likes. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Clone } from './clone.ts';
import { plainEnvironment } from './run.ts';
import type { Transport } from './transports.ts';

const noObject = '0'.repeat(40);

/** A push under way, of which the server has all that was sent. */
interface RawPush {
  /** Process of the program that this host runs for it: git, or ssh; null over HTTP. */
  readonly pid: number | null;
  /** Resolves once that program, or the connection, has ended. */
  readonly ended: Promise<unknown>;
  send(bytes: Buffer): Promise<void>;
  /** Sends these last bytes, and is gone; nobody reads what the server says. */
  leave(bytes: Buffer): void;
}

/** Begins a push to a repository; `length` is that of all bytes that an honest client would send. */
export type BeginPush = (bare: string, length: number) => Promise<RawPush>;

/** All that `git push` sends for a new branch, the pack at the end. */
export async function wholePush(
  clone: Clone,
  commit: string,
  branch: string,
  capabilities = 'report-status',
): Promise<Buffer> {
  const command = `${noObject} ${commit} refs/heads/${branch}\0${capabilities}`;
  const length = (command.length + 4).toString(16).padStart(4, '0');
  return Buffer.concat([Buffer.from(`${length}${command}0000`), await clone.pack(commit)]);
}

/** Begins pushes to a repository over one of the transports `file paths`, `ssh` and `http`. */
export function rawPushes({ url, env }: Transport, through: readonly string[] = []): BeginPush {
  return (bare, length) => {
    const address = url(bare);
    if (address.startsWith('http:')) return overHttp(`${address}/git-receive-pack`, length);
    if (address.startsWith('ssh:')) {
      const { username, hostname, port, pathname } = new URL(address);
      const to = `-p ${port} ${username}@${hostname} "git-receive-pack '${pathname}'"`;
      return overPipes(['sh', '-c', `exec ${env.GIT_SSH_COMMAND} ${to}`]);
    }
    return overPipes([...through, 'git', 'receive-pack', address]);
  };
}

async function overPipes([command = '', ...args]: readonly string[]): Promise<RawPush> {
  const child = spawn(command, args, { env: plainEnvironment, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => {}); // it need not read to the end what it refuses
  const ended = once(child, 'exit');
  await advertised(child.stdout);
  return {
    pid: child.pid ?? null,
    ended,
    send: bytes => new Promise(resolve => child.stdin.write(bytes, () => resolve())),
    leave: bytes => {
      child.stdout.destroy();
      child.stdin.end(bytes);
    },
  };
}

/** Resolves once all refs were told. */
async function advertised(stdout: NodeJS.ReadableStream): Promise<void> {
  let tail = '';
  while (!tail.endsWith('0000')) {
    const [chunk] = await once(stdout, 'data');
    tail = (tail + String(chunk)).slice(-4);
  }
}

async function overHttp(address: string, length: number): Promise<RawPush> {
  const asked = request(address, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/x-git-receive-pack-request', 'Content-Length': length },
  });
  asked.on('error', () => {}); // the server may end it first
  asked.on('response', response => response.resume().on('error', () => {}));
  const send = (bytes: Buffer): Promise<void> => new Promise(resolve => asked.write(bytes, () => resolve()));
  return {
    pid: null,
    ended: new Promise(resolve => asked.once('close', resolve)),
    send,
    leave: bytes => void send(bytes).then(() => asked.destroy()),
  };
}
