/**
 * The file of refused owners, for hooks that cannot ask: it is kept as true as the ledger is. A line has
 * fields with tabs between, so that a script compares its beginning as it is, with no pattern.
 *
 *     softquota refused  1  2026-11-21T09:14:03Z  CASE=fold
 *     path   /srv/git/alice/app.git  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *     lfs    /srv/git/alice/app.git  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *     owner  alice  size:repos:private  Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).
 *
 * The first says the version of the form, when it was written, and whether owners' names compare without the
 * case of ASCII letters; they stand as they are compared. `path` is a repository's or a wiki's directory,
 * because a script cannot read storage templates: it refuses pushes, and `lfs` LFS objects. Bytes of a path
 * that are no UTF-8 stand as they are. A path or a name with a control character has no line.
 */

import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';
import { type Ledger, type OwnerUsage, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import {
  decideByRepository,
  type FullDisk,
  fullDiskWords,
  refusal,
  repositoryBoundsIn,
  type Subject,
  subjects,
} from '../quota/index.ts';
import { type Work, workInSlices } from '../slices.ts';
import type { Away } from '../store/index.ts';

interface RefusalsOptions {
  readonly ledger: RefusalLedger & Pick<Ledger, 'watch'>;
  readonly disks: FullDisks;
  /** `[server] SOCKET`, also where the service manager made it. */
  readonly socket: string;
  /** The mode that the socket will have; its own counts once it is there. */
  readonly socketMode: number;
  /** Owners' names compare without the case of ASCII letters. */
  readonly foldCase: boolean;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Between two writings, at least; a second unless given. */
  readonly pauseMs?: number;
  /** Before it is tried again what could not be done; ten seconds unless given. */
  readonly retryMs?: number;
}

/** Milliseconds between two writings, at most. The least `lastFor` of hooks is an hour. */
const refreshMs = 30 * 60_000;

/** Path of the list of refusals that is published for a socket. */
export function refusedFile(socket: string): string {
  return `${socket.replace(/\.sock$/, '')}.refused`;
}

export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #file: string;
  readonly #loop: ReconcileLoop;
  /** The keys of owners who are refused something. */
  readonly #refused = new Set<string>();
  /** Groups whose members together are at a limit: a byte of one of them decides about all. */
  readonly #fullPools = new Set<string>();
  /** The file says something else than `refused` does. */
  #outdated = true;
  #trouble: Away | null = null;
  #refresh: NodeJS.Timeout | null = null;

  constructor(options: RefusalsOptions) {
    const { ledger, pauseMs, retryMs } = options;
    this.#options = options;
    this.#file = refusedFile(options.socket);
    this.#loop = new ReconcileLoop({
      ledger,
      pauseMs,
      retryMs,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      reconcilePool: group => this.#reconcilePool(group),
      finish: everybody => this.#finish(everybody),
      onFailed: error => this.#failed(messageOf(error)),
    });
  }

  /** From now on the file is kept. Only the daemon that serves the socket may start this. */
  start(): void {
    this.#loop.start();
    this.#refresh ??= setInterval(() => this.#loop.reconcileAll(), refreshMs).unref();
  }

  /** Disks have become full or have enough space again, or the file is gone. */
  lookAtAll(): void {
    this.#loop.reconcileAll();
  }

  /** Null while the file can be written and relied on. */
  get trouble(): Away | null {
    return this.#trouble;
  }

  /** Resolves once the file says all that is so by now, or could not be written. */
  published(): Promise<void> {
    return this.#loop.settled();
  }

  /** Writes what is not written yet, and leaves the file to the hooks. */
  close(): Promise<void> {
    if (this.#refresh !== null) clearInterval(this.#refresh);
    return this.#loop.close();
  }

  /** Brings `refused` up to date. */
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
    // An allowance only raises the limit.
    const decisions = this.#options.ledger.pools.decisions(group, 'reserved');
    const isFull = decisions.some(({ allowed, grace }) => !allowed || grace !== undefined);
    if (isFull) this.#fullPools.add(group);
    else this.#fullPools.delete(group);
    return before || isFull;
  }

  async #finish(everybody: boolean): Promise<void> {
    // Written in any case when everybody was looked at, so that a reload tries again what was in doubt.
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

  /** Yields each line from the state at that moment: later changes are pending again. null: see below. */
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

/** The part of the ledger that is read. */
type RefusalLedger = Pick<
  Ledger,
  | 'deciderFor'
  | 'documents'
  | 'ownerUsage'
  | 'policy'
  | 'pools'
  | 'repositoriesOf'
  | 'settings'
  | 'standing'
  | 'units'
>;

/** The disks on which nothing may grow. */
interface FullDisks {
  readonly areAny: boolean;
  /** The full one on which this would grow; null: none. Without a path, all with such data are full. */
  at(path: string | null, subject: Subject): FullDisk | null;
}

function* isRefused(ledger: RefusalLedger, disks: FullDisks, ownerKey: string): Work<boolean> {
  for (const line of refusedLines(ledger, disks, ownerKey)) {
    if (line !== null) return true;
    yield;
  }
  return false;
}

/**
 * Yields the lines for all that the owner is refused now, with line ends; paths are as in layout. null: long
 * work may rest there.
 */
function* refusedLines(
  ledger: RefusalLedger,
  disks: FullDisks,
  ownerKey: string,
): Generator<string | null, void> {
  const { settings } = ledger;
  const isEnforced = settings.enabled && settings.mode === 'enforce';
  const owner = isEnforced ? exactly(() => ledger.ownerUsage(ownerKey)) : null;
  if (owner === null) return;
  const messages = new Map(refusals(ledger, disks, owner));
  if (isWritable(ownerKey)) {
    for (const [subject, message] of messages) yield `owner\t${ownerKey}\t${subject}\t${message}\n`;
  }
  const standing = repositoryBoundsIn(ledger.standing(owner));
  if (messages.size === 0 && !disks.areAny && standing === null) return;
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
      const question = { settings, usage: owner.usage, subject, repository };
      const message = ofOwner ?? tooLarge(owner, standing && { ...question, standing });
      if (message !== null) yield `${kind}\t${path}\t${message}\n`;
    }
  }
}

/** Each with the first line that a pusher would read. */
function* refusals(
  ledger: RefusalLedger,
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

/** The first line that a pusher reads of a repository that is over a limit of its own; null: it is not. */
function tooLarge(
  owner: OwnerUsage,
  question: Parameters<typeof decideByRepository>[0] | null,
): string | null {
  if (question === null) return null;
  const decision = exactly(() => decideByRepository(question));
  return decision?.allowed === false ? refusal(owner.name, question.subject, decision) : null;
}

function diskMessage(disk: FullDisk): string {
  return `${fullDiskWords(disk)}.`;
}

/** Null where bytes cannot be added up: nobody decides by them. */
function exactly<Known>(known: () => Known): Known | null {
  try {
    return known();
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}

function isWritable(text: string): boolean {
  return !/[\0-\x1f\x7f]/.test(text);
}

/** Characters that are put together before others get a turn on the loop. */
const pieceCharacters = 64 * 1024;

/** The permissions of a socket, as its directory entry has them or will have them once it is created. */
interface Rights {
  readonly mode: number;
  /** Null: the daemon's own. */
  readonly gid: number | null;
}

/** The socket's rights; `mode` where there is no such file. Rejects with the system's error. */
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
 * Makes `file` hold these lines, readable for those who may use the socket, writable for the daemon
 * alone. Rejects with the system's error, and then what was there stays.
 */
async function publishFile(
  file: string,
  lines: Generator<string | null, void>,
  rights: Rights,
): Promise<void> {
  const draft = `${file}.new`;
  // One that a killed daemon left. Nothing is written through what may be there instead.
  await rm(draft, { force: true });
  const handle = await open(draft, 'wx', 0o600);
  try {
    const pieces = piecesOf(lines);
    const next = () => workInSlices(nextPiece(pieces));
    for (let piece = await next(); piece !== null; piece = await next()) await handle.writeFile(piece);
    await grant(handle, rights);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

/** Why hooks do not believe what lies in that directory, or null. */
async function doubtAbout(file: string): Promise<string | null> {
  const directory = dirname(file);
  if (((await stat(directory)).mode & 0o022) === 0) return null;
  return `other users than the daemon's can write ${directory}, so hooks do not trust the list there`;
}

type Piece = string | Buffer;

/** Returns null at the end. */
function* nextPiece(pieces: Iterator<Piece | null, void>): Work<Piece | null> {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return null;
    if (value !== null) return value;
    yield;
  }
}

/** null: long work may rest there. */
function* piecesOf(lines: Iterable<string | null>): Generator<Piece | null, void> {
  let piece = '';
  for (const line of lines) {
    if (line === null) {
      yield null;
      continue;
    }
    if (!line.isWellFormed()) {
      yield piece;
      yield encodePath(line);
      piece = '';
      continue;
    }
    piece += line;
    if (piece.length < pieceCharacters) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** Users who can connect may read; connecting needs write permission. */
async function grant(handle: FileHandle, { mode, gid }: Rights): Promise<void> {
  if (gid !== null && gid !== (await handle.stat()).gid) await handle.chown(-1, gid);
  await handle.chmod(0o600 | (mode & 0o044) | ((mode & 0o022) << 1));
}
