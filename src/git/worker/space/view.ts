/**
 * Runs git on a repository whose files strangers may have written.
 *
 * git gets a git directory of ours, in which only refs, reflogs and objects are the repository's own. So
 * nothing that the repository's configuration names is ever run or read: no hook, filter, monitor, helper or
 * included file, whatever keys a later git adds. Nothing is fetched, and git has no terminal.
 */

import { mkdir, mkdtemp, open, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EndedStage,
  OpenedFile,
  pipePrograms,
  readBounded,
  runProgram,
  type Stage,
} from '../../../bounded/index.ts';
import { SoftquotaError } from '../../../errors.ts';
import { encodePath } from '../../../layout/index.ts';
import { printable } from '../../../text.ts';
import { directoryEntries, isThere } from '../files.ts';
import { type GitProgram, type GitSettings, gitSettingsFor, UnusableRepository } from './git.ts';
import { mustBePlain, mustBeUsable } from './inspect.ts';

export interface RunLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Somebody waits for the result; otherwise git runs with low priority. */
  readonly isUrgent?: boolean;
  /** All processes of git are visible, even if this is a namespace of its own; see `seesAllProcesses`. */
  readonly isAlone?: boolean;
  /** Bytes of memory that each git may take; unless given 512 MiB where somebody waits, else 2 GiB. */
  readonly memoryBytes?: number;
}

/** One command of git; `isLocal`: without the objects of alternates. */
interface GitStage {
  readonly args: readonly string[];
  readonly isLocal?: boolean;
}

interface ViewOptions {
  readonly program: GitProgram;
  /** False: git does not see the reflogs. */
  readonly hasReflogs?: boolean;
  /** The path of a push's quarantine, whose objects git sees, too; null: none. */
  readonly quarantine?: string | null;
  /** The directory of the repository's objects; its `objects` unless given. */
  readonly objects?: string;
}

/** git keeps up to 96 MiB of differences that it has resolved, unless it is told to keep less. */
const ownConfig = '[core]\n\tdeltaBaseCacheLimit = 32m\n';

const linked = ['refs', 'packed-refs', 'worktrees', 'shallow', 'index', 'reftable'];
const longestHead = 4096;
/** In the output of git. */
const longestLine = 4 * 1024 * 1024;
const longestWords = 1000;
const mostOutput = 16 * 1024 * 1024;
/** `rev-list` of ten million objects takes over a gigabyte, and a repack holds what it compresses. */
const memoryOf = (isUrgent?: boolean): number => (isUrgent === true ? 0.5 : 2) * 1024 ** 3;

/** A repository that was checked, and the folder of ours with git's directory for it. */
interface Opened extends Required<Omit<ViewOptions, 'hasReflogs'>> {
  readonly path: string;
  readonly settings: GitSettings;
  readonly hasAlternates: boolean;
  readonly used: readonly string[];
  readonly folder: string;
}

export class RepositoryView {
  readonly path: string;
  readonly objects: string;
  readonly program: GitProgram;
  readonly settings: GitSettings;
  /** It borrows objects of other repositories. */
  readonly hasAlternates: boolean;
  /** The directories with its objects that were checked before git ran. */
  readonly used: readonly string[];
  hasReflogs = false;
  /** Limits of each git that runs here. */
  limits: RunLimits;
  /** Called with the process number of git, which is also that of its group. */
  started: (pid: number) => void = () => {};
  readonly #opened: Opened;

  private constructor(opened: Opened, limits: RunLimits) {
    this.path = opened.path;
    this.objects = opened.objects;
    this.program = opened.program;
    this.settings = opened.settings;
    this.hasAlternates = opened.hasAlternates;
    this.used = opened.used;
    this.limits = limits;
    this.#opened = opened;
  }

  /** Opens a repository; rejects with an `UnusableRepository` if git cannot or must not run on it. */
  static async open(path: string, options: ViewOptions, limits: RunLimits): Promise<RepositoryView> {
    const { program, hasReflogs = true, quarantine = null, objects = `${path}/objects` } = options;
    const used = await mustBeUsable(path, quarantine, limits.signal, objects);
    const folder = await mkdtemp(join(tmpdir(), 'softquota-git-'));
    try {
      await writeFile(join(folder, 'global'), ownConfig);
      const settings = gitSettingsFor(program, path);
      const hasAlternates = readBounded(encodePath(`${objects}/info/alternates`)).kind !== 'absent';
      const opened = { path, program, quarantine, objects, settings, hasAlternates, used, folder };
      const view = new RepositoryView(opened, limits);
      await view.#makeGitDirectory();
      if (quarantine !== null) await symlink(encodePath(quarantine), join(folder, 'quarantine'));
      if (hasReflogs) await view.refreshReflogs();
      if (hasAlternates) await view.#linkOwnObjects();
      return view;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** The repository without what the push brings; it ends with this view. */
  get stored(): RepositoryView {
    return new RepositoryView({ ...this.#opened, quarantine: null }, this.limits);
  }

  /** Returns git's output; rejects with a `UnusableRepository` that has git's words, or `not_ready`. */
  async git(
    args: readonly string[],
    input: string | Uint8Array = '',
    env = this.#environment(['git/objects']),
  ): Promise<string> {
    const { isUrgent, memoryBytes = memoryOf(isUrgent), timeoutMs, signal } = this.limits;
    signal.throwIfAborted();
    const ended = await runProgram(this.program.program, args, {
      timeoutMs,
      signal,
      started: this.started,
      memoryBytes,
      isNiced: isUrgent !== true,
      env,
      mostBytes: mostOutput,
      input,
    });
    signal.throwIfAborted();
    mustHaveDone(args, ended);
    return ended.output;
  }

  /** Runs commands of git as a pipeline, and passes each line of the last one to `take`, in Latin-1. */
  async lines(
    stages: readonly GitStage[],
    take: (line: string) => void,
    input: string | Uint8Array = '',
    { end = '\n', signal = this.limits.signal } = {},
  ): Promise<void> {
    const { timeoutMs, isUrgent, memoryBytes = memoryOf(isUrgent) } = this.limits;
    const programs = stages.map(
      ({ args, isLocal = false }): Stage => ({
        program: this.program.program,
        args,
        env: this.#environment([isLocal && this.hasAlternates ? 'own' : 'git/objects']),
      }),
    );
    let rest = '';
    const ended = await pipePrograms(
      programs,
      { timeoutMs, signal, isNiced: isUrgent !== true, memoryBytes, input },
      piece => {
        const lines = (rest + piece.toString('latin1')).split(end);
        rest = lines.pop() ?? '';
        for (const line of lines) take(line);
        if (rest.length > longestLine) throw new UnusableRepository('it has a name of more than 4 MiB');
      },
    );
    signal.throwIfAborted();
    for (const [index, each] of ended.entries()) mustHaveDone(stages[index]?.args ?? [], each);
    if (rest !== '') take(rest);
  }

  /**
   * Returns the first result of `tell` for a line of this command, and ends git then; null if it has none.
   */
  async firstLine<Told>(
    args: readonly string[],
    tell: (line: string) => Told | null,
    input: string,
    signal = this.limits.signal,
  ): Promise<Told | null> {
    const enough = new AbortController();
    const told: Told[] = [];
    const take = (line: string): void => {
      const one = told.length === 0 ? tell(line) : null;
      if (one === null) return;
      told.push(one);
      enough.abort();
    };
    try {
      await this.lines([{ args }], take, input, { signal: AbortSignal.any([signal, enough.signal]) });
    } catch (error) {
      if (told.length === 0) throw error;
    }
    return told[0] ?? null;
  }

  /** Runs `git prune` on packs and loose objects alone, since it would also remove the objects of pushes. */
  async prune(expire: string): Promise<void> {
    await rm(join(this.#opened.folder, 'own'), { recursive: true, force: true });
    await this.#linkOwnObjects();
    await this.git(['prune', `--expire=${expire}`], '', this.#environment(['own', 'git/objects']));
  }

  /** Returns git's environment, with the quarantine first and then these object directories of our folder. */
  #environment(directories: readonly string[]): Readonly<Record<string, string>> {
    const { folder, quarantine } = this.#opened;
    const [first = '', ...others] = (quarantine === null ? [] : ['quarantine'])
      .concat(directories)
      .map(name => join(folder, name));
    return {
      GIT_DIR: join(folder, 'git'),
      GIT_OBJECT_DIRECTORY: first,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: others.map(quotedForGit).join(':'),
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      // The file is ours, for git may replace it.
      GIT_CONFIG_GLOBAL: join(folder, 'global'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_ATTR_NOSYSTEM: '1',
      GIT_NO_LAZY_FETCH: '1',
      // For versions of git that do not know the former: no transport at all.
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_LITERAL_PATHSPECS: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_PAGER: 'cat',
      GIT_EDITOR: 'false',
      LC_ALL: 'C',
    };
  }

  async refreshReflogs(): Promise<void> {
    const copy = join(this.#opened.folder, 'git/logs');
    await rm(copy, { recursive: true, force: true });
    const logs = `${this.path}/logs`;
    await mustBePlain([logs]);
    this.hasReflogs = false;
    if (!(await isThere(logs))) return;
    // Copied, since git follows no link to a directory of reflogs.
    const left = { files: mostFiles, bytes: mostBytes, signal: this.limits.signal };
    await copyReflogs(logs, copy, left, mostDepth);
    this.hasReflogs = left.files < mostFiles;
  }

  async close(): Promise<void> {
    await rm(this.#opened.folder, { recursive: true, force: true });
  }

  async #makeGitDirectory(): Promise<void> {
    const directory = join(this.#opened.folder, 'git');
    const head = readBounded(encodePath(`${this.path}/HEAD`), { mostBytes: longestHead });
    if (head.kind !== 'file') throw new UnusableRepository(`its HEAD is no regular file (${head.kind})`);
    await mkdir(directory);
    await writeFile(join(directory, 'HEAD'), head.bytes);
    await writeFile(join(directory, 'config'), configText(this.settings));
    await symlink(encodePath(this.objects), join(directory, 'objects'));
    // Also files that do not exist yet: refs may be packed meanwhile, and are in no other file then.
    for (const each of linked) await symlink(encodePath(`${this.path}/${each}`), join(directory, each));
  }

  /** Makes a directory with the repository's objects, without those of its alternates. */
  async #linkOwnObjects(): Promise<void> {
    const own = join(this.#opened.folder, 'own');
    await mkdir(own);
    for (const name of await readdir(encodePath(this.objects), { encoding: 'latin1' }))
      if (name === 'pack' || /^[0-9a-f]{2}$/.test(name))
        await symlink(encodePath(`${this.objects}/${name}`), join(own, name));
  }
}

/** Writes ids as the input of git. */
export function inLines(ids: Iterable<string>): string {
  return [...ids].map(id => `${id}\n`).join('');
}

/** Quotes a path for a list with colons between paths; git reads a path in quotes like a string of C. */
function quotedForGit(path: string): string {
  return /[:"]/.test(path) ? `"${path.replaceAll(/["\\]/g, String.raw`\$&`)}"` : path;
}

/** Writes git's configuration, with one thread and little memory, since the daemon runs on the same host. */
function configText({ objectFormat, refStorage, sharedRepository }: GitSettings): string {
  const isPlain = objectFormat === 'sha1' && refStorage === 'files';
  return [
    '[core]',
    `repositoryFormatVersion = ${isPlain ? 0 : 1}`,
    'bare = true',
    'logAllRefUpdates = false',
    ...(sharedRepository === null ? [] : [`sharedRepository = ${sharedRepository}`]),
    ...(isPlain ? [] : ['[extensions]', `objectFormat = ${objectFormat}`]),
    ...(refStorage === 'files' ? [] : [`refStorage = ${refStorage}`]),
    '[pack]',
    'threads = 1',
    'windowMemory = 128m',
    'deltaCacheSize = 64m',
    '[gc]',
    'auto = 0',
    '[maintenance]',
    'auto = false',
    '',
  ].join('\n');
}

/** Runs `work` with a view, and closes it. Rejects with an `UnusableRepository` when the time is over. */
export async function withView<Result>(
  path: string,
  options: ViewOptions,
  limits: RunLimits,
  work: (view: RepositoryView) => Promise<Result>,
): Promise<Result> {
  const overdue = AbortSignal.timeout(limits.timeoutMs);
  const signal = AbortSignal.any([limits.signal, overdue]);
  let view: RepositoryView | null = null;
  try {
    view = await RepositoryView.open(path, options, { ...limits, signal });
    const result = await work(view);
    await mustBePlain(view.used);
    return result;
  } catch (error) {
    if (overdue.aborted) throw new UnusableRepository(`no end within ${limits.timeoutMs / 1000} s`);
    throw error;
  } finally {
    await view?.close();
  }
}

/** Throws git's words if it failed. */
function mustHaveDone(args: readonly string[], { status, complaint }: EndedStage): void {
  if (status === 0) return;
  const words = printable(complaint.split('\n').slice(0, 5).join('; ')).slice(0, longestWords);
  if (status === null && words === '') throw new SoftquotaError('not_ready', `git ${args[0]} was ended`);
  throw new UnusableRepository(`git ${args[0]}: ${words || `exit status ${status}`}`);
}

const mostFiles = 100_000;
const mostBytes = 64 * 1024 * 1024;
const mostDepth = 60;
/** Bytes of a reflog that are copied at a time. */
const copiedBytes = 256 * 1024;

/** Copies reflogs; rejects with an `UnusableRepository` if they are too many or too long. */
async function copyReflogs(
  from: string,
  to: string,
  left: { files: number; bytes: number; readonly signal: AbortSignal },
  depth: number,
): Promise<void> {
  await mkdir(encodePath(to), { recursive: true });
  for await (const { name, isFile, isDirectory } of directoryEntries(from)) {
    left.signal.throwIfAborted();
    left.files -= 1;
    if (left.files < 0 || depth === 0)
      throw new UnusableRepository('its reflogs are too many; git reflog expire makes them fewer');
    if (isDirectory) await copyReflogs(`${from}/${name}`, `${to}/${name}`, left, depth - 1);
    if (!isFile) continue;
    const file = OpenedFile.open(encodePath(`${from}/${name}`));
    if (file === null) continue;
    try {
      if (file.bytes > left.bytes)
        throw new UnusableRepository('its reflogs are too long; git reflog expire makes them shorter');
      left.bytes -= file.bytes;
      await copyFile(file, `${to}/${name}`);
    } finally {
      file.close();
    }
  }
}

async function copyFile(file: OpenedFile, to: string): Promise<void> {
  await using copy = await open(encodePath(to), 'w');
  const buffer = Buffer.allocUnsafe(Math.min(file.bytes, copiedBytes));
  for (let at = 0; at < file.bytes; ) {
    const part = file.read(buffer.subarray(0, file.bytes - at), at);
    if (part.length === 0) return;
    await copy.writeFile(part);
    at += part.length;
  }
}
