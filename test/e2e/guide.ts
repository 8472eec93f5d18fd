/**
 * Pages of the manual as what they are: commands in order; docs/install.md for each way to run a git server.
 */

import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Test } from 'tap';
import { identity, type Run } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';
import type { Ini } from './server.ts';

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
const common = [
  'Install softquota',
  'One that is there already',
  'Measure, and look',
  'Enforce',
  'Check',
  'Uploads',
  'All the rest',
];
/** The heading whose commands the tests of the packages type: those of the .deb, then those of the tarball. */
export const packageHeading = 'From a package';
const plain = [...common, 'The hooks', 'The hooks out of the repositories'];
export const ways = {
  ssh: [...plain, 'Over ssh'],
  http: [...plain, 'Over http'],
  gitolite: [...common, 'With gitolite', 'The hooks of gitolite', 'The hooks out of gitolite'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Way = keyof typeof ways;

/** Where alice's repository is on each way. */
export const repository: Readonly<Record<Way, string>> = {
  ssh: '/srv/git/alice/app.git',
  http: '/srv/git/alice/app.git',
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

/** What a block of app.ini says. */
export function iniOf({ text }: Block): Ini {
  const sections: Record<string, Record<string, string>> = {};
  let section = '';
  for (const [, title, key, value = ''] of text.matchAll(/^(?:\[(.+)\]|(\w+) = (.*))$/gm)) {
    section = title ?? section;
    if (key !== undefined) sections[section] = { ...sections[section], [key]: value };
  }
  return sections;
}

/** What is typed on a way, in order. */
export function stepsOf(guide: readonly Block[], way: Way): readonly Block[] {
  const headings: readonly string[] = ways[way];
  return guide.filter(({ kind, heading }) => kind.startsWith('sh') && headings.includes(heading));
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

/** A host with nothing on it yet, and alice at her computer, which is another folder of root's there. */
export class Site {
  readonly sandbox: SandboxHost;
  /** Where alice's clones are. */
  readonly home: string;

  private constructor(sandbox: SandboxHost) {
    this.sandbox = sandbox;
    this.home = join(sandbox.folder, 'alice');
  }

  /** `packageFile`: the packed package, which root finds where commands are typed. */
  static async open(t: Test, packageFile: string): Promise<Site> {
    const sandbox = await SandboxHost.open(t);
    const site = new Site(sandbox);
    const copy = join(sandbox.folder, basename(packageFile));
    await copyFile(packageFile, copy);
    await sandbox.must('cp', [copy, '/root']);
    await mkdir(site.home);
    await sandbox.must('sh', ['-eu', '-c', prepareAlice]);
    return site;
  }

  /** Types a block as it stands; it ends at the first command that fails. npm knows that there is no network. */
  type({ kind, text }: Block): Promise<Run> {
    const who =
      kind === 'sh alice' ? { cwd: this.home, env: identity } : { env: { npm_config_offline: 'true' } };
    return this.sandbox.run('sh', ['-eu', '-c', text], who);
  }

  /** The same where it has to succeed. */
  async must(block: Block): Promise<Run> {
    const done = await this.type(block);
    if (done.code === 0) return done;
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
cp .ssh/id_ed25519.pub alice.pub
printf 'StrictHostKeyChecking accept-new\\nLogLevel ERROR\\n' >.ssh/config
printf 'machine git.example login alice password "correct horse battery staple"\\n' >.netrc
`;
