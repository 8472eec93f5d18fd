/**
 * A daemon with its accounts, asked over HTTP.
 *
 * It is the daemon itself, in this process, with a configuration of its own, on a free port. There are
 * admin1, an administrator; alice, owner of the organization acme; bob; and carol, a member of acme. Every
 * answer is checked against the description that the daemon gives of itself.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import pino from 'pino';
import type { Test } from 'tap';
import { z } from 'zod';
import { formatFaults, type LoadedConfig, loadConfig } from '../../src/config/index.ts';
import { Daemon } from '../../src/daemon/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Description } from './described.ts';
import { type Answer, answerIn, send } from './http.ts';

export type { Answer } from './http.ts';

/** Values as they stand in app.ini, by key, by section. */
export type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

const people = ['admin1', 'alice', 'bob', 'carol'] as const;

export type Person = (typeof people)[number];

export interface Asked {
  /**
   * The one whose token of scope `all` is sent; `host` asks over ADMIN_SOCKET; `nobody` sends none. admin1
   * unless given.
   */
  readonly as?: Person | 'host' | 'nobody';
  /** A token to send instead. */
  readonly token?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it stands. */
  readonly rawBody?: string | Buffer;
  /** Null: none. Of JSON unless given, where there is a body. */
  readonly contentType?: string | null;
  /** Above all others. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WorldOptions {
  /** Besides or instead of what is there by default. */
  readonly settings?: Settings;
  /** Path of DATA_PATH; a new directory unless given. */
  readonly dataPath?: string;
}

const withEverything: Settings = {
  server: { DATA_PATH: 'data', HTTP_PORT: '0' },
  quota: { ENABLED: 'true' },
  'storage.repos': { PATH: 'git/{owner}/{repo}.git', VISIBILITY: 'private' },
  scan: { SCHEDULE: '0 0 1 1 *' },
};

const faultBody = z.object({ message: z.string() });

const readyLine = z.object({ msg: z.literal('softquota answers'), http: z.string() });

export class World {
  /** Holds everything that this world is made of: `git/OWNER/REPO.git` are its repositories. */
  readonly directory: string;
  /** Lines of the log, as they were written. */
  readonly log: string[] = [];
  readonly #dataPath: string;
  /**
   * Leaves a connection that rests long before the daemon does, which a busy host may let both do at once.
   */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8, timeout: 1000 });
  readonly #tokens = new Map<string, string>();
  readonly #first: Settings;
  #settings: Settings;
  #running: { readonly daemon: Daemon; readonly url: URL; readonly description: Description } | null = null;

  private constructor(
    directory: string,
    { settings = {}, dataPath = join(directory, 'data') }: WorldOptions,
  ) {
    this.directory = directory;
    this.#dataPath = dataPath;
    this.#first = settings;
    this.#settings = settings;
  }

  static async open(t: Test, options: WorldOptions = {}): Promise<World> {
    const directory = temporaryFolder(t);
    mkdirSync(join(directory, 'git'));
    const world = new World(directory, options);
    t.teardown(() => world.close());
    await world.start();
    await world.#settle();
    return world;
  }

  /** `http://127.0.0.1:PORT/`, where it listens. */
  get url(): URL {
    return this.#now.url;
  }

  get description(): Description {
    return this.#now.description;
  }

  get sockets(): { readonly admin: string; readonly gate: string; readonly trusted: string } {
    const of = (name: string) => join(this.#dataPath, `${name}.sock`);
    return { admin: of('admin'), gate: of('gate'), trusted: of('trusted') };
  }

  /**
   * Starts the daemon again on what it left; with settings besides those of the first start, where some are
   * given.
   */
  async restart(settings?: Settings): Promise<void> {
    await this.close();
    if (settings !== undefined) this.#settings = mergedSettings(this.#first, settings);
    await this.start();
  }

  /** Has the running daemon read a configuration with settings besides those of the first start. */
  reload(settings: Settings): void {
    this.#settings = mergedSettings(this.#first, settings);
    this.#now.daemon.reload(this.#load());
  }

  async start(): Promise<void> {
    const from = this.log.length;
    const stream = { write: (line: string) => void this.log.push(line) };
    const log = pino({ level: 'debug', base: null }, stream);
    const loaded = this.#load();
    const daemon = await Daemon.start({ config: loaded.config, written: loaded, env: {}, log });
    const ready = this.log.slice(from).flatMap(line => readyLine.safeParse(JSON.parse(line)).data ?? []);
    const url = new URL(ready[0]?.http ?? '');
    const document = await fetch(new URL('api/v1/openapi.json', url));
    const description = new Description(await document.text());
    this.#running = { daemon, url, description };
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    const running = this.#running;
    this.#running = null;
    await running?.daemon.stop();
  }

  /**
   * Asks, and rejects where the answer is not as the daemon's description has it. `path` is below /api/v1 and
   * goes out as it stands.
   */
  async call(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const answer = await answerIn(await this.#send(method, path, asked));
    this.description.check(method, path, answer);
    return answer;
  }

  /** Calls, and fails for any other status than this. */
  async must(status: number, method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const answer = await this.call(method, path, asked);
    if (answer.status === status) return answer;
    throw new Error(`${method} ${path}: expected ${status}, got ${answer.status}: ${answer.text}`);
  }

  /** The JSON that GET answers. */
  async get(path: string, asked: Asked = {}): Promise<unknown> {
    return (await this.must(200, 'GET', path, asked)).json;
  }

  /** Sends a request with this body, and gives the JSON of the answer; anything but success is a failure. */
  async post(path: string, body?: unknown, asked: Asked = {}): Promise<unknown> {
    return await this.#done('POST', path, { ...asked, body });
  }

  async put(path: string, body?: unknown, asked: Asked = {}): Promise<unknown> {
    return await this.#done('PUT', path, { ...asked, body });
  }

  async patch(path: string, body?: unknown, asked: Asked = {}): Promise<unknown> {
    return await this.#done('PATCH', path, { ...asked, body });
  }

  async remove(path: string, asked: Asked = {}): Promise<void> {
    await this.#done('DELETE', path, asked);
  }

  /** The message of a refusal with this status. */
  async fault(status: number, method: string, path: string, asked: Asked = {}): Promise<string> {
    return faultBody.parse((await this.must(status, method, path, asked)).json).message;
  }

  /** The description has one status of success for each operation. */
  async #done(method: string, path: string, asked: Asked): Promise<unknown> {
    const { status, text, json } = await this.call(method, path, asked);
    if (status < 300) return json;
    throw new Error(`${method} ${path}: ${status}: ${text}`);
  }

  /** A new token of somebody's with these scopes. */
  async newToken(name: string, scopes: readonly string[]): Promise<string> {
    const body = { name: `test ${scopes.join(' ')} ${this.#tokens.size} ${Math.random()}`, scopes };
    const made = await this.must(201, 'POST', `/users/${encodeURIComponent(name)}/tokens`, {
      as: 'host',
      body,
    });
    return z.object({ sha1: z.string() }).parse(made.json).sha1;
  }

  /** A trusted program reports what an owner stores, as one unit; 0 takes it away. */
  async report(owner: string, subject: string, bytes: number, unit = `reported ${subject}`): Promise<void> {
    await this.gate('POST', '/v1/units', { owner, subject, unit, bytes });
  }

  /** Asks the trusted gate; any status but 2xx and 413 is a failure. */
  async gate(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await send({
      agent: this.#agent,
      to: { socketPath: this.sockets.trusted },
      method,
      path,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = await answerIn(response);
    if (answer.status < 300 || answer.status === 413) return answer;
    throw new Error(`${method} ${path}: ${answer.status}: ${answer.text}`);
  }

  #send(method: string, path: string, asked: Asked) {
    const { as = 'admin1', token = this.#tokens.get(as), body, rawBody, contentType, headers = {} } = asked;
    const sent = body === undefined ? rawBody : JSON.stringify(body);
    const type = contentType === undefined && sent !== undefined ? 'application/json' : contentType;
    return send({
      agent: this.#agent,
      to:
        as === 'host'
          ? { socketPath: this.sockets.admin }
          : { host: this.url.hostname, port: Number(this.url.port) },
      method,
      path: `/api/v1${path}`,
      headers: {
        ...(sent === undefined || 'Transfer-Encoding' in headers
          ? {}
          : { 'Content-Length': String(Buffer.byteLength(sent)) }),
        ...(type === undefined || type === null ? {} : { 'Content-Type': type }),
        ...(token === undefined ? {} : { Authorization: `token ${token}` }),
        ...headers,
      },
      body: sent,
    });
  }

  get #now() {
    if (this.#running === null) throw new Error('the daemon does not run');
    return this.#running;
  }

  #load(): LoadedConfig {
    const file = join(this.directory, 'app.ini');
    const own = { server: { DATA_PATH: this.#dataPath } };
    writeFileSync(file, iniOf(mergedSettings(mergedSettings(withEverything, own), this.#settings)));
    const loaded = loadConfig({ file, env: {}, cwd: this.directory, uid: process.getuid?.() ?? 0 });
    if (!loaded.ok) throw new Error(formatFaults(loaded.faults));
    return loaded;
  }

  async #settle(): Promise<void> {
    const admin = { as: 'host' } as const;
    for (const name of people) {
      await this.must(201, 'POST', '/admin/users', {
        ...admin,
        body: { username: name, is_admin: name === 'admin1' },
      });
      this.#tokens.set(name, await this.newToken(name, ['all']));
    }
    await this.must(201, 'POST', '/admin/users', {
      ...admin,
      body: { username: 'acme', type: 'organization' },
    });
    for (const [name, role] of [['alice', 'owner'] as const, ['carol', 'member'] as const]) {
      await this.must(204, 'PUT', `/admin/orgs/acme/members/${name}`, { ...admin, body: { role } });
    }
  }
}

function mergedSettings(first: Settings, second: Settings): Settings {
  const sections = new Set([...Object.keys(first), ...Object.keys(second)]);
  return Object.fromEntries([...sections].map(name => [name, { ...first[name], ...second[name] }]));
}

function iniOf(settings: Settings): string {
  return Object.entries(settings)
    .map(([section, keys]) => {
      const lines = Object.entries(keys).map(([key, value]) => `${key} = ${value}\n`);
      return `[${section}]\n${lines.join('')}`;
    })
    .join('');
}
