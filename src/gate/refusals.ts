/**
 * Writes the file of refused owners, which hooks read if they cannot reach the daemon. The fields of a line
 * are separated by tabs, so that a script can compare the beginning literally.
 *
 *     softquota refused  1  2026-11-21T09:14:03Z  CASE=fold
 *     path   /srv/git/alice/app.git  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *     lfs    /srv/git/alice/app.git  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *     owner  alice  size:repos:private  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *
 * The first line has the version of the format, the time of writing, and whether names of owners ignore the
 * case of ASCII letters; names are written in the form for comparison. `path` refuses pushes into the
 * directory of a repository or wiki, because a script cannot read storage templates; `lfs` refuses its LFS
 * objects. Bytes of a path that are not UTF-8 are written unchanged. Paths and names with control characters
 * are left out.
 */

import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';
import { type Ledger, type OwnerUsage, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import {
  type DecisionQuestion,
  decideByRepository,
  exactly,
  type FullDisk,
  fullDiskWords,
  refusal,
  type Subject,
  subjects,
} from '../quota/index.ts';
import type { Away } from '../store/index.ts';
import { type Work, workInSlices } from '../turns.ts';

interface RefusalsOptions {
  readonly ledger: Ledger;
  readonly disks: FullDisks;
  /** `[server] SOCKET`, even if the service manager created it. */
  readonly socket: string;
  /** Mode of the socket as long as it does not exist; after that its real mode counts. */
  readonly socketMode: number;
  /** True if names of owners ignore the case of ASCII letters. */
  readonly foldCase: boolean;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Least milliseconds between two writes; default one second. */
  readonly pauseMs?: number;
}

/** Most milliseconds between two writes. The lowest `lastFor` of hooks is an hour. */
const refreshMs = 30 * 60_000;

/** Returns the path of the file for a socket. */
function refusedFile(socket: string): string {
  return `${socket.replace(/\.sock$/, '')}.refused`;
}

export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #file: string;
  readonly #loop: ReconcileLoop;
  /** Keys of owners who are refused something. */
  readonly #refused = new Set<string>();
  /** Groups whose common limit is reached: a byte of one member can then change the decision for all. */
  readonly #fullPools = new Set<string>();
  /** True if the file may differ from the current state. */
  #outdated = true;
  #trouble: Away | null = null;
  #refresh: NodeJS.Timeout | null = null;

  constructor(options: RefusalsOptions) {
    const { ledger, pauseMs } = options;
    this.#options = options;
    this.#file = refusedFile(options.socket);
    this.#loop = new ReconcileLoop({
      ledger,
      pauseMs,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      reconcilePool: group => this.#reconcilePool(group),
      finish: everybody => this.#finish(everybody),
      onFailed: error => this.#failed(messageOf(error)),
    });
  }

  /** Starts to keep the file current. Only the daemon that serves the socket may call this. */
  start(): void {
    this.#loop.start();
    this.#refresh ??= setInterval(() => this.#loop.reconcileAll(), refreshMs).unref();
  }

  /** Reconciles all owners, after a disk became full or free again, or the file disappeared. */
  lookAtAll(): void {
    this.#loop.reconcileAll();
  }

  /** Reason why the file cannot be written or is not trusted by hooks; null if all is well. */
  get trouble(): Away | null {
    return this.#trouble;
  }

  /** Resolves when the file has everything that is known now, or could not be written. */
  published(): Promise<void> {
    return this.#loop.settled();
  }

  /** Writes the pending changes. The file stays for the hooks. */
  close(): Promise<void> {
    if (this.#refresh !== null) clearInterval(this.#refresh);
    return this.#loop.close();
  }

  /** Updates the entry of an owner in `#refused`. */
  *#reconcile(ownerKey: string): Work<void> {
    const { ledger, disks } = this.#options;
    const is = yield* isRefused(ledger, disks, ownerKey);
    const was = this.#refused.has(ownerKey);
    if (is) this.#refused.add(ownerKey);
    else this.#refused.delete(ownerKey);
    this.#outdated ||= was || is;
  }

  #reconcilePool(group: string): boolean {
    const before = this.#fullPools.has(group);
    // An allowance only raises the limit, so it need not be considered.
    const decisions = this.#options.ledger.pools.decisions(group, 'reserved');
    const isFull = decisions.some(({ allowed, grace }) => !allowed || grace !== undefined);
    if (isFull) this.#fullPools.add(group);
    else this.#fullPools.delete(group);
    return before || isFull;
  }

  async #finish(everybody: boolean): Promise<void> {
    // After a pass over all owners the file is always written, so that a reload repeats a doubtful write.
    if (this.#outdated || everybody) await this.#write();
  }

  async #write(): Promise<void> {
    const { socket, socketMode } = this.#options;
    this.#outdated = false;
    try {
      await publishFile(this.#file, this.#lines(), await rightsOf(socket, socketMode));
    } catch (error) {
      this.#outdated = true;
      throw error;
    }
    const doubt = await doubtAbout(this.#file);
    if (doubt !== null) this.#failed(doubt);
    else this.#succeeded();
  }

  /**
   * Yields the lines. Each one has the state of its moment; a later change causes another write. A null
   * permits a pause.
   */
  *#lines(): Generator<string | null, void> {
    const { ledger, disks, foldCase } = this.#options;
    yield headerLine(Date.now(), foldCase);
    for (const ownerKey of this.#refused) yield* refusedLines(ledger, disks, ownerKey);
  }

  #failed(reason: string): void {
    if (this.#trouble?.reason === reason) return;
    this.#trouble = { since: this.#trouble?.since ?? Date.now(), reason };
    const { log } = this.#options;
    log.error({ file: this.#file, reason }, 'the list of refused owners cannot be written');
  }

  #succeeded(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#options.log.info({ file: this.#file }, 'the list of refused owners is written again');
  }
}

function headerLine(now: number, foldCase: boolean): string {
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return `softquota refused\t1\t${time}\tCASE=${foldCase ? 'fold' : 'keep'}\n`;
}

/** Disks that are too full. */
interface FullDisks {
  readonly areAny: boolean;
  /**
   * Returns the full disk for this unit, or null. Without a path, all disks with such data have to be full.
   */
  at(path: string | null, subject: Subject): FullDisk | null;
}

function* isRefused(ledger: Ledger, disks: FullDisks, ownerKey: string): Work<boolean> {
  for (const line of refusedLines(ledger, disks, ownerKey)) {
    if (line !== null) return true;
    yield;
  }
  return false;
}

/**
 * Yields lines with line ends for everything that the owner is refused now. Paths are encoded as in layout. A
 * null permits a pause.
 */
function* refusedLines(ledger: Ledger, disks: FullDisks, ownerKey: string): Generator<string | null, void> {
  const { settings } = ledger;
  const isEnforced = settings.enabled && settings.mode === 'enforce';
  const owner = isEnforced ? exactly(() => ledger.ownerUsage(ownerKey)) : null;
  if (owner === null) return;
  const messages = new Map(refusals(ledger, disks, owner));
  if (isWritable(ownerKey)) {
    for (const [subject, message] of messages) yield `owner\t${ownerKey}\t${subject}\t${message}\n`;
  }
  const standing = ledger.standing(owner);
  const haveLimits = standing.scopes?.includes('repository') === true;
  if (messages.size === 0 && !disks.areAny && !haveLimits) return;
  for (const each of ledger.repositoriesOf(owner)) {
    yield null;
    if (each === null || !isWritable(each.path)) continue;
    const { path, repository, leaf } = each;
    for (const [kind, subject] of [
      ['path', leaf],
      ['lfs', 'size:git:lfs'],
    ] as const) {
      const disk = disks.areAny ? disks.at(path, subject) : null;
      const ofOwner = disk === null ? messages.get(subject) : diskMessage(disk);
      const question = { settings, standing, usage: owner.usage, subject, repository };
      const message = ofOwner ?? (haveLimits ? tooLarge(owner, question) : null);
      if (message !== null) yield `${kind}\t${path}\t${message}\n`;
    }
  }
}

/** Yields each refused subject with the first line of its refusal. */
function* refusals(
  ledger: Ledger,
  disks: FullDisks,
  owner: OwnerUsage,
): Generator<readonly [Subject, string]> {
  const decide = ledger.deciderFor(owner);
  for (const subject of subjects) {
    const disk = disks.areAny ? disks.at(null, subject) : null;
    const decision = disk === null ? exactly(() => decide(subject)) : null;
    if (disk !== null) yield [subject, diskMessage(disk)];
    else if (decision !== null && !decision.allowed) yield [subject, refusal(owner.name, subject, decision)];
  }
}

/** Returns the first line of the refusal if the repository is over a limit of its own; otherwise null. */
function tooLarge(owner: OwnerUsage, question: DecisionQuestion): string | null {
  const decision = exactly(() => decideByRepository(question));
  return decision?.allowed === false ? refusal(owner.name, question.subject, decision) : null;
}

function diskMessage(disk: FullDisk): string {
  return `${fullDiskWords(disk)}.`;
}

function isWritable(text: string): boolean {
  return !/[\0-\x1f\x7f]/.test(text);
}

/** Characters that are joined before the event loop continues. */
const pieceCharacters = 64 * 1024;

/** Permissions of a socket: the real ones, or the configured ones before it exists. */
interface Rights {
  readonly mode: number;
  /** Null for the daemon's own group. */
  readonly gid: number | null;
}

/** Returns the permissions of the socket; `mode` if it does not exist. Rejects with the system's error. */
async function rightsOf(socket: string, mode: number): Promise<Rights> {
  try {
    const stats = await stat(socket);
    return { mode: stats.mode, gid: stats.gid };
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    return { mode, gid: null };
  }
}

/**
 * Replaces the content of `file`. Users of the socket can read it; only the daemon can write it. Rejects with
 * the system's error, and then the old content stays.
 */
async function publishFile(
  file: string,
  lines: Generator<string | null, void>,
  rights: Rights,
): Promise<void> {
  const draft = `${file}.new`;
  // Removes a draft of a killed daemon. The flag `wx` prevents writing through a link in its place.
  await rm(draft, { force: true });
  const handle = await open(draft, 'wx', 0o600);
  try {
    const next = () => workInSlices(nextPiece(lines));
    for (let piece = await next(); piece.length > 0; piece = await next()) await handle.writeFile(piece);
    await grant(handle, rights);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

/** Returns why hooks do not trust files in that directory, or null. */
async function doubtAbout(file: string): Promise<string | null> {
  const directory = dirname(file);
  if (((await stat(directory)).mode & 0o022) === 0) return null;
  return `other users than the daemon's can write ${directory}, so hooks do not trust the list there`;
}

/** Joins the next lines; empty: there are no more. A null among them permits a pause. */
function* nextPiece(lines: Iterator<string | null, void>): Work<string | Buffer> {
  let piece = '';
  while (piece.length < pieceCharacters) {
    const { done, value } = lines.next();
    if (done) break;
    if (value === null) yield;
    else if (value.isWellFormed()) piece += value;
    else return Buffer.concat([Buffer.from(piece), Buffer.from(encodePath(value))]);
  }
  return piece;
}

/** Users who can connect may read; connecting needs write permission. */
async function grant(handle: FileHandle, { mode, gid }: Rights): Promise<void> {
  if (gid !== null && gid !== (await handle.stat()).gid) await handle.chown(-1, gid);
  await handle.chmod(0o600 | (mode & 0o044) | ((mode & 0o022) << 1));
}
