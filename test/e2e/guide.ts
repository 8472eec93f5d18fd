/**
 * Pages of the manual as what they are: commands in order; docs/install.md for each way to run a git server.
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { launcher } from './daemon.ts';
import { identity, plainEnvironment, type Run, type RunOptions, run } from './run.ts';
import { SandboxHost, type SandboxOptions } from './sandbox-host.ts';
import type { Ini, Server } from './server.ts';

export interface Block {
  /**
   * The words behind its opening fence: `sh` is typed by root, `sh alice` by alice, `text` is to be seen.
   */
  readonly kind: string;
  /** The nearest heading above it. */
  readonly heading: string;
  readonly text: string;
}

/** The headings whose commands are typed, on every way and on each. */
const common = ['Install softquota', 'Set the limit', 'Check', 'Uploads', 'All the rest'];
/**
 * The heading whose commands the tests of the packages type: those of the .deb, then those of the tarball.
 */
export const packageHeading = 'From a package';
/** The heading whose commands a test of its own types, beside a real Gitea. */
export const giteaHeading = 'With Gitea or another forge';
const plain = [...common, 'The hooks', 'The hooks out of the repositories'];
export const ways = {
  ssh: [...plain, 'Over ssh'],
  http: [...plain, 'Over http'],
  apache: [...plain, 'Over http with Apache'],
  users: [...plain.filter(heading => heading !== 'Uploads'), 'With a user for each pusher'],
  gitolite: [...common, 'With gitolite', 'The hooks of gitolite', 'The hooks out of gitolite'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** The way of a server that has repositories and users before softquota comes. */
export const inUse = [
  'Install softquota',
  'A server that is in use',
  'Check',
  'The hooks out of the repositories',
  'All the rest',
];

export type Way = keyof typeof ways;

/** Path of alice's repository on each way. */
export const repository: Readonly<Record<Way, string>> = {
  ssh: '/srv/git/alice/app.git',
  http: '/srv/git/alice/app.git',
  apache: '/srv/git/alice/app.git',
  users: '/srv/git/alice/app.git',
  gitolite: '/home/git/repositories/alice/app.git',
};

/** Every block of a page of the manual. */
export async function readGuide(page = 'install.md'): Promise<readonly Block[]> {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const blocks: Block[] = [];
  let heading = '';
  for (const [, title, kind, block = ''] of text.matchAll(/^#+ (.*)$|^```(.+)\n([\s\S]*?)^```$/gm)) {
    heading = title ?? heading;
    if (kind !== undefined) blocks.push({ kind, heading, text: block });
  }
  return blocks;
}

/** Reads the settings in a block of app.ini. */
export function iniOf({ text }: Block): Ini {
  const sections: Record<string, Record<string, string>> = {};
  let section = '';
  for (const [, title, key, value = ''] of text.matchAll(/^(?:\[(.+)\]|(\w+) = (.*))$/gm)) {
    section = title ?? section;
    if (key !== undefined) sections[section] = { ...sections[section], [key]: value };
  }
  return sections;
}

/** Types lines on the host of a test's server, where `softquota` is this checkout's. */
export async function typeOn(server: Server, text: string, { env = {} }: RunOptions = {}): Promise<Run> {
  const bin = join(server.folder, 'bin');
  await mkdir(bin, { recursive: true });
  const program = `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`;
  await writeFile(join(bin, 'softquota'), program, { mode: 0o755 });
  const known = { PATH: `${bin}:${plainEnvironment.PATH}`, SOFTQUOTA_CONFIG: server.config };
  return run('sh', ['-c', text], { env: { ...known, ...env }, cwd: server.folder });
}

/** Blocks that are typed on a way, in order. */
export function stepsOf(
  guide: readonly Block[],
  way: Way,
  headings: readonly string[] = ways[way],
): readonly Block[] {
  return guide.filter(({ kind, heading }) => kind.startsWith('sh') && headings.includes(heading));
}

/** The number of command lines up to the first push that is to be refused, those of the pusher included. */
export function linesToRefusal(steps: readonly Block[]): number {
  const end = steps.findIndex(({ kind }) => kind === 'sh alice');
  return steps.slice(0, end + 1).flatMap(({ text }) => text.trimEnd().split('\n')).length;
}

/** The number of command lines that docs/install.md tells of below a heading; 0 where it tells of none. */
export function linesTold(page: string, heading: string): number {
  const [section = ''] = page.split(`\n### ${heading}\n`)[1]?.split('\n### ') ?? [];
  const told = /These are (\w+) command lines/.exec(section)?.[1];
  return (
    ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'].indexOf(told ?? '') + 1
  );
}

/**
 * The text that a pusher reads, without what a terminal makes of it, and with figures and times made alike.
 */
export function words(shown: string): string {
  const lines = shown.split(/[\r\n]+/).filter(line => /^(remote: | ! )/.test(line));
  const text = lines.map(line => line.replace(/^remote: /, '')).join(' ');
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\d[\d.]*(?= (kB|MB|GB|%))/g, '#')
    .replaceAll(/(?<=# )[kMG](?=B)/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .trim();
}

/**
 * A shell that stays open, as in a terminal: what is typed later finds it where it was left. It ends at the
 * first command that fails.
 */
class OpenShell {
  readonly #sandbox: SandboxHost;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<unknown>;
  #typed = 0;

  constructor(sandbox: SandboxHost, cwd: string) {
    this.#sandbox = sandbox;
    this.#process = spawn('nsenter', sandbox.entering(['sh', '-eu'], { cwd }));
    this.#process.stdin.on('error', () => {}); // it has ended
    // Daemons that it started keep its output open.
    this.#ended = once(this.#process, 'exit');
  }

  async type(text: string): Promise<Run> {
    this.#typed += 1;
    const begun = performance.now();
    const file = join(this.#sandbox.folder, `typed-${this.#typed}`);
    const mark = `typed ${this.#typed}\n`;
    await writeFile(file, text);
    const shown = ['stdout', 'stderr'] as const;
    const outputs = shown.map(stream => this.#until(stream, mark));
    this.#process.stdin.write(`. ${file} </dev/null\nprintf '${mark}'; printf '${mark}' >&2\n`);
    const [stdout = '', stderr = ''] = await Promise.all(outputs);
    const code = this.#process.exitCode ?? 0;
    return { code, stdout, stderr, elapsedMs: performance.now() - begun };
  }

  close(): Promise<unknown> {
    this.#process.stdin.end();
    return this.#ended;
  }

  /** Reads the stream up to the mark, or the end. */
  #until(stream: 'stdout' | 'stderr', mark: string): Promise<string> {
    let text = '';
    const source = this.#process[stream].setEncoding('utf8');
    return new Promise(resolve => {
      const take = (part: string): void => {
        text += part;
        if (text.endsWith(mark)) done(text.slice(0, -mark.length));
      };
      const done = (all: string): void => {
        source.off('data', take);
        resolve(all);
      };
      source.on('data', take);
      void this.#ended.then(() => setImmediate(() => done(text)));
    });
  }
}

/** A host with nothing on it yet, and alice at her computer, which is another folder of root's there. */
export class Site {
  readonly sandbox: SandboxHost;
  /** Folder of alice's clones. */
  readonly home: string;
  readonly #package: string | null;
  readonly #shell: OpenShell;

  private constructor(sandbox: SandboxHost, packageFile: string | null) {
    this.sandbox = sandbox;
    this.home = join(sandbox.folder, 'alice');
    this.#package = packageFile;
    this.#shell = new OpenShell(sandbox, sandbox.checkout);
  }

  /** `packageFile`: the packed package; null: it is made there, as the guide says. */
  static async open(t: Test, packageFile: string | null, options: SandboxOptions = {}): Promise<Site> {
    const sandbox = await SandboxHost.open(t, options);
    const file = packageFile === null ? null : join(sandbox.folder, 'softquota.tgz');
    if (packageFile !== null && file !== null) await copyFile(packageFile, file);
    const site = new Site(sandbox, file);
    t.teardown(() => site.#shell.close());
    await mkdir(site.home);
    await sandbox.must('sh', ['-eu', '-c', prepareAlice, 'sh', sandbox.checkout]);
    return site;
  }

  /** Types a block, root's all in one shell; it ends at the first command that fails. */
  type({ kind, text }: Block): Promise<Run> {
    if (kind === 'sh alice')
      return this.sandbox.run('sh', ['-eu', '-c', text], { cwd: this.home, env: identity });
    const install = `(umask 022 && npm install -g --offline ${this.#package}) && "$(npm root -g)/softquota/systemd/install"`;
    if (this.#package === null) return this.#shell.type(text);
    const remove = '/usr/lib/softquota/systemd/remove\n';
    const byNpm = text.replace('./scripts/install', install);
    return this.#shell.type(byNpm.replace(remove, `${remove}npm uninstall -g softquota\n`));
  }

  /** Types a block that has to succeed, or to end as the guide says: alice's first push is refused. */
  async must(block: Block): Promise<Run> {
    const done = await this.type(block);
    const isRefused = block.kind === 'sh alice' && /^remote: Quota is 0: /m.test(done.stderr);
    if (done.code === 0 || isRefused) return done;
    throw new Error(`${block.text}exit ${done.code}\n${done.stdout}${done.stderr}`);
  }

  /** Types a way of the guide as far as to the protected server. */
  async protect(guide: readonly Block[], way: Way): Promise<void> {
    for (const step of stepsOf(guide, way)) {
      if (/^The hooks out/.test(step.heading)) break;
      await this.must(step);
    }
  }
}

/**
 * Her key, which the guide has sent to the administrator; that she trusts the server, and knows her password.
 */
const prepareAlice = `
install -d -m 700 .ssh
ssh-keygen -q -t ed25519 -N '' -C alice -f .ssh/id_ed25519
cp .ssh/id_ed25519.pub "$1/alice.pub"
printf 'StrictHostKeyChecking accept-new\\nLogLevel ERROR\\n' >.ssh/config
printf 'machine git.example login alice password "correct horse battery staple"\\n' >.netrc
`;
