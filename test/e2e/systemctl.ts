/**
 * A stand-in for systemctl on a host that no systemd has booted.
 *
 * Starts, stops and reloads what unit files say, those of Debian's packages too: as their user and groups,
 * with their capabilities, folders, environment and socket, and waits for READY=1 where they promise it. It
 * supervises nothing, hardens nothing, and knows no dependency but that between a service and its socket.
 *
 * In: VERB [--now] UNIT...; verbs: daemon-reload, enable, disable, start, stop, restart, try-restart, reload,
 * is-active.
 * Out: what a service writes is in /run/systemctl/UNIT.log, and shown where it does not come up.
 * Exit: 0 done, 1 not.
 */

import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const state = '/run/systemctl';
const places = ['/etc/systemd/system', '/usr/lib/systemd/system'];
const patienceMs = 30_000;
const askAgainMs = 20;

const path = (unit: string) => places.map(place => `${place}/${unit}`).find(file => existsSync(file));
const socketOf = (service: string) => service.replace(/\.service$/, '.socket');

/** The settings of one section of a unit, drop-ins included. */
class Section {
  readonly #values = new Map<string, string[]>();

  constructor(unit: string, name: string) {
    const file = path(unit);
    if (file === undefined) throw new Error(`unit ${unit} not found`);
    const dropIns = places.map(place => `${place}/${unit}.d`).filter(folder => existsSync(folder));
    const more = dropIns.flatMap(folder => readdirSync(folder).map(each => `${folder}/${each}`));
    let section = '';
    for (const line of [file, ...more].flatMap(each => readFileSync(each, 'utf8').split('\n'))) {
      section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
      const [, key, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
      if (section !== name || key === undefined) continue;
      // An empty value takes back those before.
      this.#values.set(key, value === '' ? [] : [...this.all(key), value]);
    }
  }

  all(key: string): readonly string[] {
    return this.#values.get(key) ?? [];
  }

  get(key: string): string | undefined {
    return this.all(key).at(-1);
  }

  words(key: string): readonly string[] {
    return this.get(key)?.split(' ') ?? [];
  }
}

/** Service that a unit is about; a name alone is a service's. */
function serviceOf(unit: string): string {
  const name = unit.replace(/\.(service|socket)$/, '');
  const other = unit.endsWith('.socket') ? new Section(unit, 'Socket').get('Service') : undefined;
  return other ?? `${name}.service`;
}

class Service {
  readonly #name: string;
  readonly #settings: Section;
  readonly #user: string;
  readonly #group: string;

  constructor(name: string) {
    this.#name = name;
    this.#settings = new Section(name, 'Service');
    this.#user = this.#settings.get('User') ?? 'root';
    this.#group = this.#settings.get('Group') ?? this.#user;
  }

  /** Its process; null where it does not run. */
  get pid(): number | null {
    const file = this.#settings.get('PIDFile') ?? `${state}/${this.#name}.pid`;
    if (!existsSync(file)) return null;
    const pid = Number(readFileSync(file, 'utf8'));
    const status = `/proc/${pid}/status`;
    // Nobody waits here for a process that has ended.
    return existsSync(status) && !/^State:\tZ/m.test(readFileSync(status, 'utf8')) ? pid : null;
  }

  /** With sockets, it comes up at the first connection; `asked` makes one. */
  async start(asked: boolean): Promise<void> {
    const isNotifying = this.#settings.get('Type') === 'notify';
    const sockets = this.#sockets(asked);
    if (this.pid === null) {
      this.#makeFolders();
      for (const command of this.#settings.all('ExecStartPre')) this.run(command);
      const command = this.#settings.get('ExecStart') ?? 'false';
      if (this.#settings.get('Type') === 'forking') return this.run(command);
      if (isNotifying) await this.#listenForNotice();
      const environment = [...this.#environment, ...(isNotifying ? [`NOTIFY_SOCKET=${this.#notice}`] : [])];
      if (sockets.length === 0) {
        this.#launch(this.#name, ['env', '-i', ...environment, ...this.#as(command)]);
      } else {
        const names = sockets.map(({ name }) => name).join(':');
        const given = [`--fdname=${names}`, ...environment.map(pair => `--setenv=${pair}`)];
        const paths = sockets.map(({ listen }) => listen);
        await this.#listen(paths, [...given, ...this.#as(command)], this.#name);
        for (const { listen, owner, mode } of sockets) {
          execFileSync('chown', [owner, listen]);
          execFileSync('chmod', [mode, listen]);
        }
      }
    }
    if (!asked) return;
    const [first] = sockets;
    if (first !== undefined) {
      const connection = connect(first.listen, () => connection.destroy());
    }
    if (isNotifying) await until(() => this.#isReady(), `${this.#name} does not come up`);
  }

  async stop(): Promise<void> {
    const { pid } = this;
    if (pid === null) return;
    process.kill(pid);
    await until(() => this.pid === null, `${this.#name} does not end`);
  }

  reload(): void {
    for (const command of this.#settings.all('ExecReload')) this.run(command);
  }

  /** One of its commands, to its end. */
  run(command: string): void {
    const [program = '', ...args] = [
      'env',
      '-i',
      ...this.#environment,
      `MAINPID=${this.pid}`,
      ...this.#as(command),
    ];
    execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  }

  get log(): string {
    return readFileSync(`${state}/${this.#name}.log`, 'utf8');
  }

  /**
   * Those that it cannot do without; where it is to wait for somebody to ask, the one of its own name too.
   */
  #sockets(asked: boolean) {
    const own = socketOf(this.#name);
    const required = new Section(this.#name, 'Unit').words('Requires').includes(own) || !asked ? [own] : [];
    return [...new Set([...this.#settings.words('Sockets'), ...required])].map(unit => {
      const socket = new Section(unit, 'Socket');
      return {
        name: socket.get('FileDescriptorName') ?? unit,
        listen: socket.get('ListenStream') ?? '',
        owner: `${socket.get('SocketUser') ?? 'root'}:${socket.get('SocketGroup') ?? 'root'}`,
        mode: socket.get('SocketMode') ?? '0666',
      };
    });
  }

  get #notice(): string {
    return `${state}/${this.#name}.notice`;
  }

  get #environment(): readonly string[] {
    const files = this.#settings.all('EnvironmentFile').map(file => file.replace(/^-/, ''));
    const lines = files
      .filter(file => existsSync(file))
      .flatMap(file => readFileSync(file, 'utf8').split('\n'));
    return [
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin',
      ...this.#settings.all('Environment'),
      ...lines.filter(line => /^\w+=/.test(line)),
    ];
  }

  /** A command as its user. A shell reads it: its quotes and variables are much like systemd's. */
  #as(command: string): readonly string[] {
    const shell = ['sh', '-c', `exec ${command.replace(/^[-+@!]+/, '')}`];
    if (this.#user === 'root') return shell;
    const capabilities = this.#settings
      .words('AmbientCapabilities')
      .map(name => name.toLowerCase().replace('cap_', '+'));
    const list = ['-all', ...capabilities].join(',');
    const groups = this.#settings.words('SupplementaryGroups').join(',');
    return [
      ...['setpriv', '--reuid', this.#user, '--regid', this.#group],
      ...(groups === '' ? ['--init-groups'] : ['--groups', groups]),
      ...['--inh-caps', list, '--ambient-caps', list, '--bounding-set', list, '--no-new-privs'],
      ...shell,
    ];
  }

  #makeFolders(): void {
    const parents = { Runtime: '/run', State: '/var/lib', Cache: '/var/cache' };
    for (const [kind, parent] of Object.entries(parents)) {
      const mode = this.#settings.get(`${kind}DirectoryMode`) ?? '0755';
      for (const name of this.#settings.words(`${kind}Directory`)) {
        execFileSync('install', ['-d', '-m', mode, '-o', this.#user, '-g', this.#group, `${parent}/${name}`]);
      }
    }
  }

  async #listenForNotice(): Promise<void> {
    const keep = ['sh', '-c', 'exec cat <&3'];
    await this.#listen([this.#notice], ['--datagram', ...keep], `${this.#name}.notices`);
    execFileSync('chmod', ['666', this.#notice]);
  }

  #isReady(): boolean {
    if (this.pid === null) throw new Error(`${this.#name} has ended`);
    return /^READY=1$/m.test(readFileSync(`${state}/${this.#name}.notices.log`, 'utf8'));
  }

  /** A program that gets sockets as its descriptors from 3 on, once there is a connection to one. */
  async #listen(paths: readonly string[], program: readonly string[], name: string): Promise<void> {
    for (const each of paths) {
      mkdirSync(dirname(each), { recursive: true });
      rmSync(each, { force: true });
    }
    this.#launch(name, ['systemd-socket-activate', ...paths.map(each => `--listen=${each}`), ...program]);
    for (const each of paths) await until(() => existsSync(each), `${each} does not appear`);
  }

  #launch(name: string, [program = '', ...args]: readonly string[]): void {
    const log = openSync(`${state}/${name}.log`, 'w');
    const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log], cwd: '/' });
    closeSync(log);
    child.unref();
    writeFileSync(`${state}/${name}.pid`, String(child.pid));
  }
}

async function until(isIt: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!isIt()) {
    if (performance.now() > deadline) throw new Error(what);
    await delay(askAgainMs);
  }
}

async function carryOut(verb: string, unit: string, isNow: boolean): Promise<void> {
  const service = new Service(serviceOf(unit));
  if (verb === 'try-restart' && service.pid === null) return;
  const isRestart = verb === 'restart' || verb === 'try-restart';
  const start = verb === 'start' || isRestart || (verb === 'enable' && isNow);
  if (verb === 'stop' || isRestart || (verb === 'disable' && isNow)) await service.stop();
  if (verb === 'reload') service.reload();
  if (verb === 'is-active' && service.pid === null) throw new Error(`${unit} does not run`);
  if (!start) return;
  try {
    await service.start(!unit.endsWith('.socket'));
  } catch (error) {
    process.stderr.write(service.log);
    throw error;
  }
}

mkdirSync(state, { recursive: true });
const [verb = '', ...words] = process.argv.slice(2);
try {
  for (const unit of words.filter(word => word !== '--now'))
    await carryOut(verb, unit, words.includes('--now'));
} catch (error) {
  process.stderr.write(`systemctl: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
