/**
 * Hosts at work: on each of them disks grow, pushes come, and administrators rule, all the time until it
 * is ended.
 */

import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { isStale, type Trial } from './trial.ts';

/** Owner of the repositories that are pushed to. */
const pusher = 'carol';

export class Load {
  readonly #trial: Trial;
  readonly #running: Promise<unknown>;
  #isOver = false;
  #fault: unknown = null;
  #rules = 0;
  /** Number of answers to administrators, by status. */
  readonly ruled = new Map<number, number>();
  /** Longest time of a push, in milliseconds. */
  slowestPushMs = 0;
  pushes = 0;

  private constructor(trial: Trial, clones: readonly Clone[]) {
    this.#trial = trial;
    const works = trial.servers.flatMap((server, index) => {
      const clone = clones.at(index);
      if (clone === undefined) throw new Error('a clone for each host');
      return [
        this.#again(() => this.#rule(index)),
        this.#again(() => this.#push(clone)),
        this.#again(async () => {
          await trial.grow(server, index % 2 === 0 ? 'alice' : 'bob', 10);
          await isStale(server);
        }),
      ];
    });
    this.#running = Promise.all(works).finally(() => {
      this.#isOver = true;
    });
    // Callers that wait for the load, or end it, get the fault.
    this.#running.catch(error => {
      this.#fault = error;
    });
  }

  static async on(trial: Trial): Promise<Load> {
    const clones = await Promise.all(
      trial.servers.map(async server => {
        await server.repository(`${pusher}/app`);
        await server.installHooks();
        // Known before it is pushed to: who is not has to be found on the disk while somebody waits.
        await server.scan();
        return Clone.of(server, server.path(`${pusher}/app`));
      }),
    );
    return new Load(trial, clones);
  }

  /** Resolves once so many more changes were acknowledged. */
  rulesMore(count: number): Promise<true> {
    return this.#comesTo(() => this.ruled.get(201) ?? 0, count);
  }

  /** Resolves once so many more pushes were made. */
  pushesMore(count: number): Promise<true> {
    return this.#comesTo(() => this.pushes, count);
  }

  #comesTo(done: () => number, more: number): Promise<true> {
    const goal = done() + more;
    return until(
      () => {
        if (this.#fault !== null) throw this.#fault;
        return done() >= goal ? true : null;
      },
      () =>
        `only ${done()} of ${goal}; answers to administrators: ${JSON.stringify([...this.ruled])}, the last ${this.#trial.refusal}\n${this.#logs}`,
    );
  }

  get #logs(): string {
    return this.#trial.servers.map(server => server.daemon.log).join('\n\n');
  }

  /** Rejects where a push failed, or a check was not answered. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    const { servers } = this.#trial;
    const sizes = await Promise.all(servers.map(server => counted(server.path(`${pusher}/app`))));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    for (const server of servers) {
      const path = server.path(`${pusher}/app`);
      await server.ask('gate', '/v1/changed', { body: { path } });
    }
    for (const server of servers) await server.usageIs(pusher, bytes => bytes === total);
  }

  async #again(act: () => Promise<void>): Promise<void> {
    while (!this.#isOver) await act();
  }

  async #rule(index: number): Promise<void> {
    const { [index]: server } = this.#trial.servers;
    if (server === undefined) throw new Error(`there is no host ${index}`);
    const status = await this.#trial.make(`ruled-${++this.#rules}`, -1, server);
    this.ruled.set(status, (this.ruled.get(status) ?? 0) + 1);
  }

  async #push(clone: Clone): Promise<void> {
    await clone.commit(100);
    const { code, said, elapsedMs } = await clone.push();
    if (code !== 0 || said !== '') throw new Error(`a push: exit ${code}\n${said}`);
    this.pushes += 1;
    this.slowestPushMs = Math.max(this.slowestPushMs, elapsedMs);
  }
}
