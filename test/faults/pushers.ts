/**
 * People who push, and hooks that ask, all the time: what each was answered, by whom, and how long it took.
 */

import { basename, join } from 'node:path';
import { Clone } from '../e2e/clone.ts';
import { plainEnvironment, run } from '../e2e/run.ts';
import type { Server } from '../e2e/server.ts';

/** Source of a decision: the daemon, the list that it published before, or nobody who knew. */
export type DecidedBy = 'daemon' | 'last' | 'nobody';

export interface Outcome {
  readonly kind: 'push' | 'check';
  /** The owner is over the limit. */
  readonly isOver: boolean;
  readonly isRefused: boolean;
  readonly by: DecidedBy;
  /** From the start of git, or of the hook, to its end, in milliseconds. */
  readonly elapsedMs: number;
  /** Its end, by `performance.now()`. */
  readonly endedAt: number;
  /** Text that the person read. */
  readonly said: string;
}

/** One push for so many checks. */
const checksPerPush = 20;
/** And one of four of all by the owner who is over the limit. */
const overEach = 4;

export class Pushers {
  readonly outcomes: Outcome[] = [];
  readonly #overPath: string;
  readonly #working: Promise<unknown>;
  #isOver = false;
  #fault: unknown = null;
  readonly #watchers = new Set<() => void>();

  private constructor(overPath: string, paths: readonly string[], clones: readonly PushersClones[]) {
    this.#overPath = overPath;
    this.#working = Promise.all(clones.map((own, index) => this.#work(paths[index] ?? '', own))).catch(
      error => {
        this.#fault = error;
        this.#tell();
      },
    );
  }

  /**
   * Each of `names` is a repository of its own with somebody who pushes there; `overName` is the one of the
   * owner over the limit.
   */
  static async on(server: Server, names: readonly string[], overName: string): Promise<Pushers> {
    const overPath = server.path(overName);
    const clones = await Promise.all(
      names.map(async name => {
        const over = await Clone.of(server, overPath);
        await over.commit(1000);
        return { own: await Clone.of(server, server.path(name)), over };
      }),
    );
    return new Pushers(
      overPath,
      names.map(name => server.path(name)),
      clones,
    );
  }

  /** Resolves once there are so many outcomes. */
  async reach(count: number): Promise<void> {
    while (this.outcomes.length < count && this.#fault === null) {
      await new Promise<void>(resolve => this.#watchers.add(resolve));
    }
    if (this.#fault !== null) throw this.#fault;
  }

  /** Ends once all that is under way has its answer. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#working;
    if (this.#fault !== null) throw this.#fault;
  }

  async #work(path: string, { own, over }: PushersClones): Promise<void> {
    for (let round = 1; !this.#isOver; round += 1) {
      const isOver = round % overEach === 0;
      if (round % checksPerPush !== 0) await this.#check(isOver ? this.#overPath : path, isOver);
      else if (Math.floor(round / checksPerPush) % overEach === 0) await this.#push(over, true);
      else {
        await own.commit(500);
        await this.#push(own, false);
      }
    }
  }

  async #push(clone: Clone, isOver: boolean): Promise<void> {
    // A branch of its own: what others push there is not in this clone.
    const { code, said, elapsedMs, stderr } = await clone.push([
      `main:refs/heads/of-${basename(clone.folder)}`,
    ]);
    if (code !== 0 && said === '') throw new Error(`a push failed without a word of the hook: ${stderr}`);
    this.#record({ kind: 'push', isOver, isRefused: code !== 0, elapsedMs, said });
  }

  /**
   * Asks as `softquota receive-pack` does before an upload, and a hook before a push that brings something.
   */
  async #check(path: string, isOver: boolean): Promise<void> {
    const [none, some] = ['0', '1'].map(digit => digit.repeat(40));
    const { code, stderr, elapsedMs } = await run(join(path, 'hooks', 'pre-receive'), ['--early'], {
      cwd: path,
      env: plainEnvironment,
      input: `${none} ${some} refs/heads/main\n`,
    });
    this.#record({
      kind: 'check',
      isOver,
      isRefused: code !== 0,
      elapsedMs,
      said: stderr,
    });
  }

  #record(outcome: Omit<Outcome, 'by' | 'endedAt'>): void {
    this.outcomes.push({ ...outcome, by: decidedBy(outcome.said), endedAt: performance.now() });
    this.#tell();
  }

  #tell(): void {
    for (const resolve of this.#watchers) resolve();
    this.#watchers.clear();
  }
}

interface PushersClones {
  readonly own: Clone;
  readonly over: Clone;
}

function decidedBy(said: string): DecidedBy {
  if (/could not be checked(\. Last known: |, so this push is allowed\.)/.test(said)) return 'last';
  return /could not be checked|may not ask|cannot be run|takes too long/.test(said) ? 'nobody' : 'daemon';
}
