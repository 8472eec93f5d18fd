/**
 * PostgreSQL and MariaDB servers of a test's own, on a Unix socket in its temporary folder, run by a user
 * without rights. They end with the test that started them, and only they.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../src/errors.ts';
import { until } from '../e2e/ask.ts';
import { must, run } from '../e2e/run.ts';
import { type Teardown, temporaryFolder } from '../temporary-folder.ts';

export interface DatabaseServer {
  /** Runs statements as the server's administrator, and gives what its client prints. */
  sql(text: string | Buffer, database?: string): Promise<string>;
  /** An address for `[forge] DATABASE`. */
  address(user: string, password?: string): string;
  /** The place of its socket, as forges name it. */
  readonly host: string;
  /** File of every statement that the server gets. */
  readonly statements: string;
  start(): Promise<void>;
  /** Ends every connection. */
  stop(): Promise<void>;
  /** Stops it in its tracks, its connections open; resolves once none of it runs. `go` lets it go on. */
  halt(): Promise<void>;
  go(): void;
}

/** The user `nobody`: PostgreSQL refuses to run as root. */
const nobody = 65_534;
const asNobody = [
  '--reuid',
  String(nobody),
  '--regid',
  String(nobody),
  '--clear-groups',
  '--pdeathsig',
  'KILL',
];

export async function startPostgres(t: Teardown): Promise<DatabaseServer> {
  const directory = folder(t);
  const programs = newestPrograms();
  const data = join(directory, 'data');
  const options = ['-D', data, '-U', 'admin', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8'];
  await must('setpriv', [...asNobody, join(programs, 'initdb'), ...options], { cwd: directory });
  // Users other than the administrator need the password that they were given.
  writeFileSync(join(data, 'pg_hba.conf'), 'local all admin trust\nlocal all all scram-sha-256\n');
  const statements = join(directory, 'log');
  const settings = {
    listen_addresses: '',
    unix_socket_directories: directory,
    fsync: 'off',
    shared_buffers: '32MB',
    log_statement: 'all',
    log_line_prefix: '%u ',
  };
  const words = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const psql = ['-h', directory, '-U', 'admin', '-v', 'ON_ERROR_STOP=1', '-qAt'];
  const sql = (text: string | Buffer, database = 'postgres') =>
    must(join(programs, 'psql'), [...psql, '-d', database], { input: text });
  const server = serverOf(t, {
    command: [join(programs, 'postgres'), '-D', data, ...words],
    directory,
    log: statements,
    answers: async () => (await run(join(programs, 'pg_isready'), ['-h', directory])).code === 0,
    signal: 'SIGINT',
  });
  await server.start();
  const address = (user: string, password?: string) =>
    `postgres://${user}${password === undefined ? '' : `:${password}`}@${encodeURIComponent(directory)}/gitea`;
  return { ...server, sql, address, statements, host: directory };
}

export async function startMariadb(t: Teardown): Promise<DatabaseServer> {
  const directory = folder(t);
  const data = join(directory, 'data');
  const socket = join(directory, 's');
  // One that starts removes the temporary tables of all others that share the directory for them.
  const temporary = join(directory, 'tmp');
  await must('install', ['-d', '-o', '65534', '-g', '65534', temporary]);
  const ofItsOwn = `--tmpdir=${temporary}`;
  const options = [
    '--no-defaults',
    `--datadir=${data}`,
    ofItsOwn,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ];
  await must('setpriv', [...asNobody, 'mariadb-install-db', ...options], { cwd: directory });
  const statements = join(directory, 'general.log');
  const words = [
    '--no-defaults',
    `--datadir=${data}`,
    ofItsOwn,
    `--socket=${socket}`,
    `--pid-file=${join(directory, 'pid')}`,
    '--skip-networking',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=64M',
    '--general-log=1',
    `--general-log-file=${statements}`,
  ];
  const client = ['--no-defaults', `--socket=${socket}`, '-u', 'root', '--batch', '-N'];
  const sql = (text: string | Buffer, database = 'mysql') =>
    must('mariadb', [...client, '-D', database], { input: text });
  const server = serverOf(t, {
    command: ['mariadbd', ...words],
    directory,
    log: join(directory, 'log'),
    answers: async () => (await run('mariadb', [...client, '-e', 'SELECT 1'])).code === 0,
    signal: 'SIGTERM',
  });
  await server.start();
  const address = (user: string, password?: string) =>
    `mysql://${user}${password === undefined ? '' : `:${password}`}@${encodeURIComponent(socket)}/gitea`;
  return { ...server, sql, address, statements, host: socket };
}

interface ServerProgram {
  readonly command: readonly string[];
  readonly directory: string;
  readonly log: string;
  answers(): Promise<boolean>;
  /** Ends it without waiting for those who are connected. */
  readonly signal: NodeJS.Signals;
}

function serverOf(
  t: Teardown,
  { command, directory, log, answers, signal }: ServerProgram,
): Pick<DatabaseServer, 'start' | 'stop' | 'halt' | 'go'> {
  let child: ChildProcess | null = null;
  const stop = async () => {
    if (child === null) return;
    const ending = child;
    child = null;
    const gone = once(ending, 'exit');
    signalAll(ending, 'SIGCONT');
    ending.kill(signal);
    await gone;
  };
  t.teardown(stop);
  return {
    start: async () => {
      const words = [...asNobody, 'sh', '-c', 'exec "$@" >>"$0" 2>&1', log, ...command];
      const started = spawn('setpriv', words, { cwd: directory, stdio: 'ignore' });
      child = started;
      await until(
        async () => {
          if (started.exitCode !== null) throw new Error(`${command[0]} ended at its start, see ${log}`);
          return (await answers()) || null;
        },
        () => `${command[0]} does not answer`,
      );
    },
    stop,
    halt: async () => {
      // Its threads go on until the one has run that gets the signal, which takes long on a busy host.
      await until(() => {
        signalAll(child, 'SIGSTOP');
        return processesOf(child).every(isStopped) || null;
      });
    },
    go: () => signalAll(child, 'SIGCONT'),
  };
}

/** PostgreSQL has a process for each connection. */
function processesOf(child: ChildProcess | null): readonly number[] {
  const pid = child?.pid;
  if (pid === undefined) return [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.map(Number)];
}

function signalAll(child: ChildProcess | null, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const each of processesOf(child)) {
    try {
      process.kill(each, signal);
    } catch (error) {
      // Servers end children of their own at any time.
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  }
}

/** Tells whether no thread of a process runs. */
function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every(thread =>
      /^State:\s+[TZ]/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')),
    );
  } catch (error) {
    // It has just ended.
    if (!['ENOENT', 'ESRCH'].includes(systemCode(error) ?? '')) throw error;
    return false;
  }
}

/** A folder that the server's user can write; it stays until the server has ended. */
function folder(t: Teardown): string {
  const directory = temporaryFolder(t);
  mkdirSync(join(directory, 'data'), { mode: 0o700 });
  for (const path of [directory, join(directory, 'data')]) chownSync(path, nobody, nobody);
  return directory;
}

/** Debian has the programs of each version of PostgreSQL in a directory of their own. */
function newestPrograms(): string {
  const versions = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(a) - Number(b));
  return join('/usr/lib/postgresql', versions.at(-1) ?? '', 'bin');
}
