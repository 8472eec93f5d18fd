/**
 * Redis servers of a test's own, on free ports of the loopback: alone, with TLS and a user, or behind
 * Sentinels.
 *
 * Each keeps its data in the test's temporary folder, so that one which was killed comes back with what it
 * had. They end with the test that started them, and only they.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { certificateIn } from '../e2e/certificate.ts';
import { must } from '../e2e/run.ts';
import { freePort } from '../e2e/transports.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** One process, at one port, whether it runs at the moment or not. */
export interface Server {
  readonly port: number;
  readonly directory: string;
  /** Output of redis-cli. */
  cli(...words: readonly string[]): Promise<string>;
  /**
   * Starts it where it does not run, with more settings where there are any; resolves when it takes
   * connections.
   */
  start(...more: readonly string[]): Promise<void>;
  /** Resolves when the process is gone: in order by default. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Stops it in its tracks, its connections open; `go` lets it go on. */
  halt(): void;
  go(): void;
}

/** Servers that take part, and how a store is opened there. */
export interface Servers {
  readonly address: string;
  /** Servers with data, the first master first; `single` and `secure` have one. */
  readonly servers: readonly [Server, ...Server[]];
}

/** Looks again and again until it is so. */
export async function comes(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(
    async () => (await isSo()) || null,
    () => `${what}: it did not come`,
  );
}

interface Options {
  readonly directory: string;
  readonly settings?: readonly string[];
  /** Options that redis-cli needs besides the port. */
  readonly cli?: readonly string[];
  readonly port?: number;
  /** Runs a Sentinel with this file, which it writes to. */
  readonly sentinel?: string;
}

/** Starts something on a port that is free, and on another one if somebody else was quicker. */
async function onFreePort<Started>(start: (port: number) => Promise<Started>): Promise<Started> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (attempt === 5 || !String(error).includes('Address already in use')) throw error;
    }
  }
}

/** Persists as a server with data should: what is acknowledged is in its append-only file. */
export function startServer(t: Test, options: Options): Promise<Server> {
  const { port } = options;
  return port === undefined ? onFreePort(free => startAt(t, free, options)) : startAt(t, port, options);
}

async function startAt(t: Test, port: number, options: Options): Promise<Server> {
  const directory = join(options.directory, String(port));
  mkdirSync(directory, { recursive: true });
  const own =
    options.sentinel === undefined
      ? ['--dir', directory, '--save', '', '--appendonly', 'yes', ...listening(options.settings, port)]
      : [options.sentinel, '--sentinel', '--port', String(port), '--dir', directory];
  let child: ChildProcess | null = null;

  const start = async (...more: readonly string[]) => {
    if (child !== null) return;
    // It ends with this process even where that is killed.
    const words = ['--pdeathsig', 'KILL', 'redis-server', ...own, '--bind', '127.0.0.1', ...more];
    const started = spawn('setpriv', words, { stdio: ['ignore', 'pipe', 'ignore'] });
    child = started;
    started.once('exit', () => {
      if (child === started) child = null;
    });
    const said: string[] = [];
    for await (const line of createInterface({ input: started.stdout })) {
      said.push(line);
      if (!/Ready to accept connections|Sentinel ID is/.test(line)) continue;
      started.stdout.resume();
      return;
    }
    throw new Error(`redis-server ended at its start:\n${said.join('\n')}`);
  };
  const end = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    if (child === null) return;
    const ending = child;
    const gone = once(ending, 'exit');
    ending.kill('SIGCONT');
    ending.kill(signal);
    // Redis does not end while it writes its first append-only file, as after a resync, and forgets the
    // signal.
    const again = setInterval(() => ending.kill(signal), 500);
    await gone;
    clearInterval(again);
  };

  await start();
  t.teardown(() => end('SIGKILL'));
  return {
    port,
    directory,
    cli: (...words) =>
      must('redis-cli', ['-h', '127.0.0.1', '-p', String(port), ...(options.cli ?? []), ...words]),
    start,
    end,
    halt: () => child?.kill('SIGSTOP'),
    go: () => child?.kill('SIGCONT'),
  };
}

function listening(settings: readonly string[] = [], port: number): readonly string[] {
  return settings.includes('--tls-port')
    ? settings.map(word => (word === 'PORT' ? String(port) : word))
    : ['--port', String(port), ...settings];
}

export async function startSingle(t: Test, ...settings: readonly string[]): Promise<Servers> {
  const server = await startServer(t, { directory: temporaryFolder(t), settings });
  return { address: `redis://127.0.0.1:${server.port}/0`, servers: [server] };
}

export interface Secure extends Servers {
  /** The certificate that the server shows, in PEM. */
  readonly certificate: string;
}

/** Over TLS only, with a user whose name and password have to be percent-encoded, and no other. */
export async function startSecure(t: Test): Promise<Secure> {
  const directory = temporaryFolder(t);
  const { certificate, certificateFile, keyFile } = await certificateIn(directory);
  const users = join(directory, 'users.acl');
  writeFileSync(users, 'user default off ~* &* +@all\nuser soft:quota on >p@ss/word ~* &* +@all\n');
  const tls = ['--tls-cert-file', certificateFile, '--tls-key-file', keyFile, '--tls-auth-clients', 'no'];
  const server = await startServer(t, {
    directory,
    settings: ['--port', '0', '--tls-port', 'PORT', ...tls, '--aclfile', users],
    cli: [
      '--tls',
      '--cacert',
      certificateFile,
      '--user',
      'soft:quota',
      '--pass',
      'p@ss/word',
      '--no-auth-warning',
    ],
  });
  return {
    address: `rediss://soft%3Aquota:p%40ss%2Fword@localhost:${server.port}/0`,
    servers: [server],
    certificate,
  };
}

export interface Watched extends Servers {
  readonly sentinels: readonly Server[];
  /** The one that the Sentinels take for the master now. */
  master(): Promise<Server>;
}

/**
 * A master, two replicas, and three Sentinels that notice within a second that the master is gone. With a
 * password all of them want it.
 */
export async function startSentinels(t: Test, password?: string): Promise<Watched> {
  const directory = temporaryFolder(t);
  const secret = password === undefined ? [] : ['--requirepass', password, '--masterauth', password];
  const cli = password === undefined ? [] : ['-a', password, '--no-auth-warning'];
  const master = await startServer(t, { directory, settings: secret, cli });
  const settings = [
    '--replicaof',
    '127.0.0.1',
    String(master.port),
    '--repl-diskless-sync-delay',
    '0',
    ...secret,
  ];
  const replicas = await Promise.all([1, 2].map(() => startServer(t, { directory, settings, cli })));
  const servers: Servers['servers'] = [master, ...replicas];
  await comes('both replicas', async () => {
    return (await master.cli('info', 'replication')).match(/state=online/g)?.length === 2;
  });
  const sentinels = await Promise.all(
    [1, 2, 3].map(async number => {
      const file = join(directory, `sentinel-${number}.conf`);
      writeFileSync(
        file,
        `sentinel monitor quota 127.0.0.1 ${master.port} 2\nsentinel down-after-milliseconds quota 1000\n` +
          'sentinel failover-timeout quota 5000\n' +
          (password === undefined
            ? ''
            : `requirepass ${password}\nsentinel sentinel-pass ${password}\nsentinel auth-pass quota ${password}\n`),
      );
      return startServer(t, { directory, sentinel: file, cli });
    }),
  );
  const isComplete = async (sentinel: Server) => {
    const said = await sentinel.cli('sentinel', 'master', 'quota');
    return /num-slaves\n2\n/.test(said) && /num-other-sentinels\n2\n/.test(said);
  };
  await Promise.all(sentinels.map(sentinel => comes('the Sentinels', () => isComplete(sentinel))));
  return {
    address: `redis+sentinel://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/quota/0`,
    servers,
    sentinels,
    master: async () => {
      for (const sentinel of sentinels) {
        const said = await sentinel.cli('sentinel', 'get-master-addr-by-name', 'quota').catch(() => '');
        const found = servers.find(({ port }) => said.endsWith(`\n${port}`));
        if (found !== undefined) return found;
      }
      throw new Error('no Sentinel knows a master');
    },
  };
}
