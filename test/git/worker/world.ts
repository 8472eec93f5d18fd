/** Storage with repositories, and what keeps them guarded. */

import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Guard, hooksStatus, isProtected, writeShared } from '../../../src/git/index.ts';
import { KeepHooks } from '../../../src/git/worker/keep-hooks.ts';
import { Gate } from '../../hooks/gate.ts';
import { makeForgeHooks } from '../hooks/forge-hooks.ts';
import { Server } from '../hooks/server.ts';

export interface Line {
  readonly path: string;
  readonly why?: string;
}

export class World {
  readonly server: Server;
  readonly gate: Gate;
  readonly keeper: KeepHooks;
  readonly said: (Line & { readonly message: string })[] = [];
  readonly #heard = new EventEmitter();

  private constructor(server: Server, gate: Gate, guard: Guard, isForge: boolean) {
    this.server = server;
    this.gate = gate;
    const tell = (details: object, message: string): void => {
      this.said.push({ ...(details as Line), message }); // every line is about a repository
      this.#heard.emit('line');
    };
    this.keeper = new KeepHooks({
      storages: [
        {
          kind: 'repos',
          templates: [`${server.root}/git/{owner}/{repo}.git`],
          owner: { by: 'path' },
          visibility: 'private',
        },
      ],
      exclude: [],
      isForge,
      guard,
      log: { info: tell, warn: tell },
      changed: () => this.#heard.emit('line'),
    });
    this.#heard.setMaxListeners(0);
  }

  /**
   * `shared`: the directory below the server's of the one file that stubs run; `isForge`: the repositories
   * are its.
   */
  static async open(t: Test, shared: string | null = null, { isForge = false } = {}): Promise<World> {
    const server = await Server.open(t);
    const gate = await Gate.open(server.path('gate.sock'));
    const place = shared === null ? {} : { shared: await writeShared(server.path(shared)) };
    const guard = await Guard.open({ socket: gate.socket, hookConf: server.noConf, ...place });
    const world = new World(server, gate, guard, isForge);
    await server.git(['init', '-q', server.path('work')]);
    await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
    await server.repository('git/first/first.git');
    t.teardown(async () => {
      await world.keeper.close();
      await gate.close();
    });
    return world;
  }

  path(name: string): string {
    return this.server.path('git', `${name}.git`);
  }

  /** As a forge makes it: git first, its own hooks then. */
  async makeForge(name: string, template?: string): Promise<string> {
    const config = template === undefined ? [] : ['-c', `init.templateDir=${template}`];
    const made = await this.server.git([...config, 'init', '-q', '--bare', this.path(name)]);
    if (made.code !== 0) throw new Error(made.stderr);
    await makeForgeHooks(this.path(name));
    return this.path(name);
  }

  /** Resolves with the first line about this repository that matches, also one that came already. */
  async line(path: string, message: RegExp): Promise<Line> {
    for (;;) {
      const found = this.said.find(line => line.path === path && message.test(line.message));
      if (found !== undefined) return found;
      await once(this.#heard, 'line');
    }
  }

  async isProtected(path: string): Promise<boolean> {
    const { repositories } = await hooksStatus([path], { hookConf: this.server.noConf });
    return repositories.every(each => isProtected(each));
  }

  /** Resolves once the hooks there ask at the gate. */
  async asks(path: string): Promise<void> {
    while ((await this.server.config(path, 'softquota.socket')) !== this.gate.socket) {
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }

  push(path: string, refs = 'HEAD:refs/heads/main') {
    return this.server.git(['push', '-q', path, refs], join(this.server.root, 'work'));
  }

  checksOf(path: string): number {
    return this.gate.checks.filter(({ parameters }) => parameters.get('path') === path).length;
  }
}
