/**
 * A real Gitaly in a folder of a test's own, with what GitLab is to it: its calls, and the internal API that
 * Gitaly asks before a push, which allows everything here.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { must, plainEnvironment, type Run, run } from '../e2e/run.ts';
import { served } from '../served.ts';
import { type Teardown, temporaryFolder } from '../temporary-folder.ts';
import { placeOf } from './gitlab-world.ts';
import { builtForge } from './real-forge.ts';

/** The user `nobody`, who runs Gitaly. */
export const gitalyUser = 65_534;

const storageName = 'default';

/** Repository as GitLab names it to Gitaly, for one of its projects. */
export interface GitalyRepository {
  /** Its path below the storage. */
  readonly path: string;
  /** Field of Gitaly's messages. */
  readonly message: Readonly<Record<string, string>>;
}

/** `project`: the path that people know. */
export function gitalyRepository(
  kind: 'project' | 'wiki' | 'snippet' | 'pool',
  id: number,
  project: string,
): GitalyRepository {
  const folder = { project: '@hashed', wiki: '@hashed', snippet: '@snippets', pool: '@pools' }[kind];
  const path = `${placeOf(folder, id)}${kind === 'wiki' ? '.wiki' : ''}.git`;
  const names = { gl_repository: `${kind}-${id}`, gl_project_path: project };
  const message = { storage_name: storageName, relative_path: path, ...(kind === 'pool' ? {} : names) };
  return { path, message };
}

/** Bytes in a message. */
function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const user = {
  gl_id: 'user-11',
  gl_username: 'alice',
  name: base64('Alice'),
  email: base64('alice@git.example'),
  timezone: 'UTC',
};

/** Programs that scripts/real-forge built, in a folder that every user may read. */
export async function gitalyPrograms(t: Teardown): Promise<string> {
  const folder = temporaryFolder(t);
  await chmod(folder, 0o755);
  for (const name of ['gitaly', 'git'] as const)
    await must('cp', ['-R', await builtForge(name), join(folder, name)]);
  return folder;
}

interface GitalyOptions {
  /** See `gitalyPrograms`. */
  readonly programs: string;
  /** Its folder, which is made; others may search those above. */
  readonly folder: string;
  readonly hasTransactions: boolean;
}

export class RealGitaly {
  readonly storage: string;
  /** Its custom_hooks_dir. */
  readonly hooks: string;
  readonly git: string;
  /** The paths of the internal API that it asked for. */
  readonly asked: readonly string[];
  readonly #address: string;
  readonly #programs: string;

  private constructor({ programs, folder }: GitalyOptions, asked: readonly string[]) {
    this.storage = join(folder, 'storage');
    this.hooks = join(folder, 'custom_hooks');
    this.git = join(programs, 'git/bin/git');
    this.asked = asked;
    this.#address = `unix:${join(folder, 'socket')}`;
    this.#programs = join(programs, 'gitaly');
  }

  static async start(t: Test, options: GitalyOptions): Promise<RealGitaly> {
    const { folder, programs } = options;
    const asked: string[] = [];
    const port = await served(t, (request, response) => answer(request, response, asked));
    const gitaly = new RealGitaly(options, asked);
    for (const each of [folder, gitaly.storage, gitaly.hooks, join(folder, 'runtime')]) {
      mkdirSync(each);
      if (each !== gitaly.hooks) chownSync(each, gitalyUser, gitalyUser);
    }
    const config = join(folder, 'gitaly.toml');
    await writeFile(join(folder, 'secret'), 'secret');
    await writeFile(config, configText(gitaly, options, port));
    const log = join(folder, 'log');
    const output = openSync(log, 'a');
    const as = ['--reuid', `${gitalyUser}`, '--regid', `${gitalyUser}`, '--clear-groups', '--'];
    const child = spawn('setpriv', [...as, join(programs, 'gitaly/program'), 'serve', config], {
      cwd: folder,
      env: { ...plainEnvironment, HOME: folder },
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    t.teardown(() => ended(child));
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`Gitaly ended:\n${readFileSync(log, 'utf8')}`);
        return (await gitaly.#call('ServerService/ServerInfo', {})).code === 0 || null;
      },
      () => `Gitaly does not answer:\n${readFileSync(log, 'utf8')}`,
    );
    return gitaly;
  }

  /** Calls a method with the messages of a stream. An answer may be a refusal. */
  #call(method: string, ...messages: readonly object[]): Promise<Run> {
    const texts = messages.map(message => JSON.stringify(message));
    return run(join(this.#programs, 'rpc'), [this.#address, method, ...texts]);
  }

  /** Calls a method that has to succeed. */
  async #done(method: string, ...messages: readonly object[]): Promise<void> {
    const { code, stderr } = await this.#call(method, ...messages);
    if (code !== 0) throw new Error(`${method}: ${stderr}`);
  }

  /** Makes repositories. */
  async create(...repositories: readonly GitalyRepository[]): Promise<void> {
    for (const { message } of repositories)
      await this.#done('RepositoryService/CreateRepository', {
        repository: message,
        default_branch: base64('main'),
      });
  }

  remove({ message }: GitalyRepository): Promise<void> {
    return this.#done('RepositoryService/RemoveRepository', { repository: message });
  }

  /** Makes the pool of the objects that forks of `origin` share. */
  createPool(pool: GitalyRepository, origin: GitalyRepository): Promise<void> {
    return this.#done('ObjectPoolService/CreateObjectPool', {
      object_pool: { repository: pool.message },
      origin: origin.message,
    });
  }

  /** Has a repository take from a pool what the pool has. */
  link(pool: GitalyRepository, { message }: GitalyRepository): Promise<void> {
    return this.#done('ObjectPoolService/LinkRepositoryToObjectPool', {
      object_pool: { repository: pool.message },
      repository: message,
    });
  }

  /** Brings a pool up to date. */
  fetchInto(pool: GitalyRepository, origin: GitalyRepository): Promise<void> {
    return this.#done('ObjectPoolService/FetchIntoObjectPool', {
      object_pool: { repository: pool.message },
      origin: origin.message,
    });
  }

  /** Writes a ref as GitLab itself does, without asking a hook. */
  writeRef({ message }: GitalyRepository, ref: string, revision: string): Promise<void> {
    return this.#done('RepositoryService/WriteRef', {
      repository: message,
      ref: base64(ref),
      revision: base64(revision),
    });
  }

  /** Has it do the housekeeping that it does by itself now and then. */
  optimize({ message }: GitalyRepository, strategy: 'HEURISTICAL' | 'EAGER'): Promise<void> {
    return this.#done('RepositoryService/OptimizeRepository', {
      repository: message,
      strategy: `STRATEGY_${strategy}`,
    });
  }

  /** Commits a new file to `main`, as an edit in the browser does. */
  edit({ message }: GitalyRepository, file: string): Promise<Run> {
    const [branch, name] = [base64('main'), base64(file)];
    return this.#call(
      'OperationService/UserCommitFiles',
      {
        header: {
          repository: message,
          user,
          branch_name: branch,
          start_branch_name: branch,
          commit_message: name,
        },
      },
      { action: { header: { action: 'CREATE', file_path: name } } },
      { action: { content: base64('hello') } },
    );
  }

  /** Merges a commit into `main`, as the button in the browser does. */
  merge({ message }: GitalyRepository, commit: string): Promise<Run> {
    const words = { branch: base64('main'), message: base64('merge') };
    const first = { repository: message, user, commit_id: commit, ...words };
    return this.#call('OperationService/UserMergeBranch', first, { apply: true });
  }

  createBranch({ message }: GitalyRepository, branch: string): Promise<Run> {
    const names = { branch_name: base64(branch), start_point: base64('main') };
    return this.#call('OperationService/UserCreateBranch', { repository: message, user, ...names });
  }

  deleteBranch({ message }: GitalyRepository, branch: string): Promise<Run> {
    const names = { branch_name: base64(branch) };
    return this.#call('OperationService/UserDeleteBranch', { repository: message, user, ...names });
  }

  /**
   * Environment in which `git push` to any address by ssh comes to this repository, as gitlab-shell has it.
   */
  envOf({ message }: GitalyRepository): Readonly<Record<string, string>> {
    const { gl_id, gl_username } = user;
    const names = { gl_id, gl_username, gl_repository: message.gl_repository };
    return {
      GIT_SSH_VARIANT: 'simple',
      GIT_SSH_COMMAND: `'${join(this.#programs, 'gitaly-ssh')}' receive-pack`,
      GITALY_ADDRESS: this.#address,
      GITALY_PAYLOAD: JSON.stringify({ repository: message, ...names }),
    };
  }

  /** Bytes of the regular files of repositories. */
  async stored(...repositories: readonly GitalyRepository[]): Promise<number> {
    const folders = repositories.map(({ path }) => join(this.storage, path));
    // Files go while it looks.
    const { stdout } = await run('find', [...folders, '-type', 'f', '-printf', '%s\n']);
    return stdout.split('\n').reduce((sum, size) => sum + Number(size), 0);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}

/** Answers as GitLab's internal API, and notes the path. */
function answer(request: IncomingMessage, response: ServerResponse, asked: string[]): void {
  const path = request.url ?? '';
  asked.push(path);
  const [name = ''] = path.split('/').slice(-1);
  const answers: Readonly<Record<string, object>> = {
    allowed: { status: true, gl_id: user.gl_id, gl_username: user.gl_username, git_config_options: [] },
    pre_receive: { reference_counter_increased: true },
    post_receive: { reference_counter_decreased: true, messages: [] },
    check: { api_version: 'v4', gitlab_version: '16.7.0', gitlab_rev: 'none', redis: true },
  };
  request.resume();
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(answers[name] ?? {}));
}

function configText(gitaly: RealGitaly, options: GitalyOptions, port: number): string {
  const { folder, programs, hasTransactions } = options;
  return `socket_path = "${folder}/socket"
bin_dir = "${programs}/gitaly"
runtime_dir = "${folder}/runtime"
[git]
bin_path = "${gitaly.git}"
use_bundled_binaries = false
[[storage]]
name = "${storageName}"
path = "${gitaly.storage}"
[hooks]
custom_hooks_dir = "${gitaly.hooks}"
[gitlab]
url = "http://127.0.0.1:${port}"
secret_file = "${folder}/secret"
[daily_maintenance]
disabled = true
[transactions]
enabled = ${hasTransactions}
`;
}
