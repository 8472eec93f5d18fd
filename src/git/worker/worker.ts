/** The worker as a whole: its jobs, its connection to the daemon, and its reports. */

import type { Fields } from '../../bounded/index.ts';
import { messageOf, SoftquotaError } from '../../errors.ts';
import { type LargeBlobsLook, Mounts, quarantinePath, type StorageSettings } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import { type DiskThreads, lookAtQuarantine, packThreads } from '../../scan/index.ts';
import { version } from '../../version.ts';
import { type SpaceReport, type WorkerReport, type WorkerTask, workerTask } from '../../wire/index.ts';
import type { WantedSettings } from '../hooks/install.ts';
import { DaemonConnection } from './connection.ts';
import { filePath } from './judge/file-path.ts';
import { bringsBack, isKept, judgePush } from './judge/judge.ts';
import { KeepHooks } from './keep-hooks.ts';
import { Quarantines } from './quarantines/quarantines.ts';
import { Reclaim, type ReclaimOptions } from './reclaim.ts';
import { RepositoryWalk } from './repository-walk.ts';
import { explainSpace } from './space/explain.ts';
import { type GitProgram, gitOf } from './space/git.ts';
import { lfsStores } from './space/lfs.ts';
import { withView } from './space/view.ts';

export interface WorkerOptions {
  readonly trustedSocket: string;
  readonly storages: readonly StorageSettings[];
  readonly exclude: readonly string[];
  /** The repositories belong to a Gitea or Forgejo, even if nothing in them shows that yet. */
  readonly isForge: boolean;
  /** The settings of the hooks that it keeps; null where `[hooks] KEEP` is false. */
  readonly hooks: WantedSettings | null;
  /** The gits that it may run, the usual one first; without any, nothing is judged or collected. */
  readonly gits: readonly GitProgram[];
  readonly isAlone: boolean;
  /** Null where `[reclaim] RUN` is never. */
  readonly reclaim: Pick<ReclaimOptions, 'run' | 'expireMs'> | null;
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>;
}

/** Interval of reports. The daemon ends the connection if some of them are missing. */
const reportEveryMs = 5000;
/** Changes within this time are reported together. */
const gatherMs = 200;
/** Time limit of a space report that somebody waits for, and of one that is made in advance. */
const explainMs = 60_000;
const unaskedMs = 300_000;
/** Limit of space reports at a time, of each of the two kinds. */
const mostExplained = 2;
/** Time limit of a judgement; the daemon gives up before. */
const judgeMs = 120_000;
const pushMs = 86_400_000;
const hungAfterMs = 30_000;
/** Time for threads to end with the worker. */
const closeMs = 1000;
/** Interval of walks if hooks are kept, so that new repositories have them within a second. */
const walkWithHooksMs = 200;
const walkMs = 60_000;

export class Worker {
  readonly #options: WorkerOptions;
  readonly #hooks: KeepHooks | null;
  readonly #repositories: RepositoryWalk;
  readonly #reclaim: Reclaim | null = null;
  /** Numbers of space reports in the making: for somebody who waits, and in advance. */
  readonly #explained = { urgent: 0, others: 0 };
  readonly #quarantines: Quarantines;
  readonly #packReaders: DiskThreads;
  readonly #connection: DaemonConnection;
  #daemonVersion = version;
  #timer: NodeJS.Timeout | undefined;
  /** Time of the next report, on the monotonic clock. */
  #dueAt = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { hooks, reclaim, storages, exclude, isForge, isAlone, log, trustedSocket } = options;
    const ofGit = storages.filter(({ kind }) => kind === 'repos' || kind === 'wiki');
    const changed = (): void => this.#reportIn(gatherMs);
    const everyMs = hooks === null ? walkMs : walkWithHooksMs;
    const repositories = new RepositoryWalk({ storages: ofGit, exclude, everyMs });
    this.#repositories = repositories;
    this.#connection = new DaemonConnection({
      socketPath: trustedSocket,
      connected: () => {
        this.#reclaim?.sendAllAgain();
        this.#reportIn(0);
      },
      answer: (question, signal) => this.#do(question, signal),
      take: message => this.#take(message),
      fault: why => {
        if (why === null) log.info({ socket: trustedSocket }, 'the daemon takes reports');
        else log.warn({ socket: trustedSocket, why }, 'the daemon takes no report; the worker goes on');
      },
    });
    const job = { repositories, isAlone, log, changed };
    this.#quarantines = new Quarantines(job);
    this.#packReaders = packThreads({ mounts: new Mounts(), hungAfterMs, log });
    this.#hooks = hooks && new KeepHooks({ ...job, isForge, wanted: hooks });
    const [first] = options.gits;
    if (reclaim === null || first === undefined) return;
    const gitFor = (path: string) => gitOf(options.gits, '', path) ?? first;
    this.#reclaim = new Reclaim({ ...job, ...reclaim, gitFor });
  }

  /** Starts all jobs; resolves once the hooks of all present repositories have been checked. */
  async start(): Promise<void> {
    this.#connection.start();
    this.#quarantines.start();
    this.#reclaim?.start();
    await this.#hooks?.start();
    this.#reportIn(0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([
      this.#connection.close(),
      this.#hooks?.close(),
      this.#repositories.close(),
      this.#reclaim?.close(),
      this.#quarantines.close(),
      this.#packReaders.close(closeMs),
    ]);
  }

  #take(message: Fields): void {
    if (typeof message.mark === 'string' && this.#reclaim !== null) this.#reclaim.mark = message.mark;
    if (typeof message.version === 'string') this.#meetVersion(message.version);
    for (const path of textsIn(message.pushed)) {
      this.#reclaim?.pushed(path);
      this.#quarantines.asked(path);
    }
    for (const path of textsIn(message.asked)) this.#quarantines.asked(path);
  }

  #meetVersion(daemon: string): void {
    if (daemon === this.#daemonVersion) return;
    this.#daemonVersion = daemon;
    this.#options.log.warn({ worker: version, daemon }, 'the worker is of another version than the daemon');
  }

  async #do(question: Fields, signal: AbortSignal): Promise<object> {
    const { success, data: task } = workerTask.safeParse(question);
    if (!success) throw new Error('the worker is of another version than the daemon');
    if (task.kind === 'collect_first') {
      this.#reclaim?.collectFirst(task.path);
      return {};
    }
    if (task.kind !== 'space' && task.kind !== 'reclaim') {
      const objects = this.#repositories.objectsPathOf(task.path);
      if (task.kind === 'large_blobs') return largeBlobs({ ...task, objects }, this.#packReaders);
      return pushTask({ ...task, objects }, signal, this.#options);
    }
    const program = gitOf(this.#options.gits, '', task.path);
    if (this.#reclaim === null || program === null)
      throw new Error('the worker has no git, or [reclaim] RUN = never');
    if (task.kind === 'space') return this.#explain(task, program, signal);
    const removedBytes = await this.#quarantines.removeIn(task.path);
    const collected = await this.#reclaim.collectNow(task.path);
    return { ...collected, freed_bytes: collected.freed_bytes + removedBytes };
  }

  async #explain(
    { path, urgent: isUrgent, lfs }: Extract<WorkerTask, { readonly kind: 'space' }>,
    program: GitProgram,
    signal: AbortSignal,
  ): Promise<SpaceReport> {
    const kind = isUrgent ? 'urgent' : 'others';
    // Counts the work itself: a question whose disk does not answer is given up in daemon/space, and goes on.
    if (this.#explained[kind] >= mostExplained)
      throw new SoftquotaError('not_ready', 'other repositories are being looked through; ask again later');
    const limits = { timeoutMs: isUrgent ? explainMs : unaskedMs, signal, isUrgent };
    const objects = this.#repositories.objectsPathOf(path);
    const stores = lfsStores(path, this.#options.storages);
    this.#explained[kind] += 1;
    return withView(path, { program, objects }, limits, view =>
      explainSpace(view, { stores, ofForge: lfs }),
    ).finally(() => {
      this.#explained[kind] -= 1;
    });
  }

  /** Plans the next report, unless one is due before: changes without a pause do not put it off. */
  #reportIn(milliseconds: number): void {
    const dueAt = performance.now() + milliseconds;
    if (this.#isClosed || dueAt >= this.#dueAt) return;
    this.#dueAt = dueAt;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#report(), milliseconds);
  }

  #report(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (!this.#connection.isOpen) return;
    try {
      this.#connection.send({ report: this.#state() });
    } catch (error) {
      this.#options.log.warn({ why: messageOf(error) }, 'a report could not be made');
    }
    this.#reportIn(this.#reclaim?.hasUnsent ? gatherMs : reportEveryMs);
  }

  #state(): WorkerReport {
    return {
      version,
      exec_paths: this.#options.gits.flatMap(({ execPaths }) => execPaths),
      hooks: this.#hooks?.report() ?? null,
      quarantines: this.#quarantines.report(),
      repositories: this.#reclaim?.nextFigures() ?? [],
    };
  }
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter(each => typeof each === 'string') : [];
}

type TaskOf<Kind extends WorkerTask['kind']> = Extract<WorkerTask, { readonly kind: Kind }> & {
  readonly objects: string;
};
type PushTask = TaskOf<'brings_back' | 'file_path' | 'judge' | 'outcome' | 'quarantine'>;

/** Does tasks about pushes under way: judges them, waits for their end, measures their quarantines. */
async function pushTask(
  task: PushTask,
  signal: AbortSignal,
  { gits, isAlone }: { readonly gits: readonly GitProgram[]; readonly isAlone: boolean },
): Promise<object> {
  if (task.kind === 'quarantine') return measured(task);
  const program = gitOf(gits, task.exec_path, task.path);
  if (program === null) throw new Error('there is no git that can judge');
  if (task.kind === 'file_path') return filePath(task, program, { timeoutMs: task.deadline_ms, signal });
  const limits = { timeoutMs: judgeMs, signal };
  if (task.kind === 'brings_back') return { brings_back: await bringsBack(task, program, limits) };
  if (task.kind === 'judge') return judgePush(task, program, limits);
  return { kept: await isKept(task, program, { timeoutMs: pushMs, signal, isAlone }) };
}

function measured({ path, name, measure, objects }: TaskOf<'quarantine'>): object {
  const place = quarantinePath(path, name, objects);
  const look = place === null ? null : lookAtQuarantine(place, measure);
  if (look?.is !== 'seen') throw new Error('the quarantine is not there, or cannot be read');
  const { id, bytes, sample } = look.quarantine;
  return { id, bytes, sample };
}

/** Reads packs on a thread, since that may take seconds. Rejects if a disk does not answer. */
async function largeBlobs(
  { path, name, over_bytes: overBytes, deadline_ms: deadlineMs, objects }: TaskOf<'large_blobs'>,
  readers: DiskThreads,
): Promise<LargeBlobsLook> {
  const quarantine = quarantinePath(path, name, objects);
  if (quarantine === null) return { is: 'unknown', why: 'its quarantine is none of git' };
  // The thread gives up before our deadline, so that it need not be abandoned.
  const question = { quarantine, objects, overBytes, deadlineMs: 0.9 * deadlineMs };
  return readers.ask('large blobs', [question], null, deadlineMs);
}
