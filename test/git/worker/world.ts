/** Storage with repositories, and what keeps them guarded. */

import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { WantedSettings } from '../../../src/git/hooks/install.ts';
import { hooksStatus, isProtected } from '../../../src/git/index.ts';
import { KeepHooks } from '../../../src/git/worker/keep-hooks.ts';
import { RepositoryWalk } from '../../../src/git/worker/repository-walk.ts';
import { Gate } from '../../hooks/gate.ts';
import { storage } from '../../layout/world.ts';
import { makeForgeHooks } from '../hooks/forge-hooks.ts';
import { Server } from '../hooks/server.ts';

export interface Line {
  readonly path: string;
  readonly why?: string;
}

export class World {
  readonly server: Server;
  readonly gate: Gate;
  readonly repositories: RepositoryWalk;
  readonly keeper: KeepHooks;
  readonly said: (Line & { readonly message: string })[] = [];
  readonly #heard = new EventEmitter();

  private constructor(server: Server, gate: Gate, wanted: WantedSettings, isForge: boolean) {
    this.server = server;
    this.gate = gate;
    const tell = (details: object, message: string): void => {
      this.said.push({ ...(details as Line), message }); // every line is about a repository
      this.#heard.emit('line');
    };
    this.repositories = new RepositoryWalk({
      storages: [storage({ templates: [`${server.root}/git/{owner}/{repo}.git`] })],
      exclude: [],
      everyMs: 200,
    });
    this.keeper = new KeepHooks({
      repositories: this.repositories,
      isForge,
      wanted,
      log: { info: tell, warn: tell },
      changed: () => this.#heard.emit('line'),
    });
    this.#heard.setMaxListeners(0);
  }

  /** `isForge`: the repositories are a forge's. */
  static async open(t: Test, { isForge = false } = {}): Promise<World> {
    const server = await Server.open(t);
    const gate = await Gate.open(server.path('gate.sock'));
    const wanted = { socket: gate.socket, client: 'nc' } as const;
    const world = new World(server, gate, wanted, isForge);
    await server.git(['init', '-q', server.path('work')]);
    await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
    await server.repository('git/first/first.git');
    t.teardown(async () => {
      await world.repositories.close();
      await world.keeper.close();
      await gate.close();
    });
    return world;
  }

  path(name: string): string {
    return this.server.path('git', `${name}.git`);
  }

  /** Makes a repository as a forge does: git first, its own hooks then. */
  async makeForge(name: string): Promise<string> {
    const made = await this.server.git(['init', '-q', '--bare', this.path(name)]);
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
    return (await hooksStatus([path])).every(each => isProtected(each));
  }

  push(path: string, refs = 'HEAD:refs/heads/main') {
    return this.server.git(['push', '-q', path, refs], join(this.server.root, 'work'));
  }

  checksOf(path: string): number {
    return this.gate.pushes().filter(({ parameters }) => parameters.get('directory') === path).length;
  }
}
