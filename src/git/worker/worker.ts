/** The worker as a whole: its jobs, and its reports to the daemon. */

import type { StorageSettings } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import { version } from '../../version.ts';
import type { Guard } from '../hooks/guard.ts';
import { forgeLfsObjects, sendReport } from './connection.ts';
import { Figures } from './figures.ts';
import { KeepHooks } from './keep-hooks.ts';
import { Reclaim, type ReclaimOptions } from './reclaim.ts';
import type { WorkerReport } from './report.ts';
import { TaskLoop } from './tasks.ts';

export interface WorkerOptions {
  /** `[server] TRUSTED_SOCKET`. */
  readonly trustedSocket: string;
  readonly storages: readonly StorageSettings[];
  readonly exclude: readonly string[];
  /** The repositories are those of a Gitea or Forgejo, also where nothing in them says so yet. */
  readonly isForge: boolean;
  /** Null where `[hooks] KEEP` is false. */
  readonly guard: Guard | null;
  /** Null where `[reclaim] RUN` is never, or there is no git that can do it. */
  readonly reclaim: Pick<ReclaimOptions, 'run' | 'expireMs' | 'gitVersion' | 'roundEveryMs'> | null;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** The daemon takes the worker for gone after some of these. */
const reportEveryMs = 5000;
/** Changes within this time are reported together. */
const gatherMs = 200;

export class Worker {
  readonly #options: WorkerOptions;
  readonly #hooks: KeepHooks | null;
  readonly #reclaim: Reclaim | null;
  readonly #tasks: TaskLoop | null;
  readonly #figures = new Figures();
  /** The daemon's start that has the figures. */
  #daemon = '';
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #fault: string | null = null;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { guard, reclaim, storages, exclude, isForge, log, trustedSocket } = options;
    const ofGit = storages.filter(({ kind }) => kind === 'repos' || kind === 'wiki');
    const changed = (): void => this.#reportIn(gatherMs);
    this.#hooks = guard && new KeepHooks({ storages: ofGit, exclude, isForge, guard, log, changed });
    this.#reclaim =
      reclaim &&
      new Reclaim({
        ...reclaim,
        storages: ofGit,
        lfs: storages.filter(({ kind }) => kind === 'lfs'),
        exclude,
        forgeLfs: (path, signal) => forgeLfsObjects(trustedSocket, path, signal),
        log,
        found: figures => {
          this.#figures.put(figures);
          changed();
        },
        gone: path => this.#figures.forget(path),
      });
    this.#tasks = this.#reclaim && new TaskLoop(trustedSocket, this.#reclaim);
  }

  /** Resolves once every job has gone through all that there is. */
  async start(): Promise<void> {
    this.#report();
    this.#reclaim?.start();
    this.#tasks?.start();
    await this.#hooks?.start();
    this.#reportIn(0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer ?? undefined);
    const ended = this.#tasks?.close();
    await Promise.all([this.#hooks?.close(), this.#reclaim?.close(), ended]);
    await this.#sending;
  }

  /** The next report is due then, if it would come later. */
  #reportIn(milliseconds: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = setTimeout(() => this.#report(), milliseconds);
  }

  #report(): void {
    this.#sending = this.#sending
      .then(() => this.#send())
      .finally(() => this.#reportIn(this.#reportsMore ? gatherMs : reportEveryMs));
  }

  async #send(): Promise<void> {
    const { trustedSocket, log } = this.#options;
    const state = this.#state();
    const outcome = await sendReport(trustedSocket, state);
    if (outcome.taken) this.#taken(state, outcome.daemon);
    const fault = outcome.taken ? null : outcome.why;
    if (fault === this.#fault) return;
    this.#fault = fault;
    if (fault === null) log.info({ socket: trustedSocket }, 'the daemon takes reports');
    else log.warn({ socket: trustedSocket, why: fault }, 'the daemon takes no report; the worker goes on');
  }

  get #reportsMore(): boolean {
    return this.#fault === null && this.#figures.hasUnsent;
  }

  #taken({ repositories }: WorkerReport, daemon: string): void {
    this.#figures.sent(repositories);
    if (daemon !== this.#daemon) this.#figures.sendAllAgain();
    this.#daemon = daemon;
  }

  #state(): WorkerReport {
    const uid = process.geteuid?.() ?? -1;
    return {
      version,
      pid: process.pid,
      uid,
      hooks: this.#hooks?.report() ?? null,
      repositories: this.#figures.next(),
    };
  }
}
