/** A server whose owners have limits in all shapes, and to which people push over a real sshd. */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import type { RuleScope } from '../../src/quota/index.ts';
import { isLong } from '../run-length.ts';
import { Clone } from './clone.ts';
import { identity, must, run } from './run.ts';
import { Server } from './server.ts';
import { transports } from './transports.ts';
import { withWorker } from './with-worker.ts';

/** The limit of a file: in the long run that of GitHub, else small enough to be quick. */
export const fileLimit = isLong ? 100_000_000 : 1_000_000;
/** Number of small files that a push brings. */
const many = isLong ? 100_000 : 3000;

interface Limited {
  readonly server: Server;
  /** A working copy of a repository, whose `origin` is reached over ssh. */
  clone(name: string): Promise<Clone>;
  /** Puts owners under limits in bytes, by a group of their own. */
  limit(owners: readonly string[], limits: Readonly<Partial<Record<RuleScope, number>>>): Promise<void>;
}

/** Starts a server with these repositories. */
export async function openLimited(
  t: Test,
  repositories: readonly string[],
  { hasWorker = true } = {},
): Promise<Limited> {
  const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '-1' } }, repositories });
  if (hasWorker) await withWorker(t, server);
  const ssh = await transports.ssh(t, server);
  return {
    server,
    clone: name => Clone.of(server, ssh.url(server.path(name)), { env: ssh.env }),
    limit: async (owners, limits) => {
      const name = owners.join('-');
      const rules = Object.entries(limits).map(([per, limit]) => ({
        name: `${name}-${per}`,
        limit,
        per,
        subjects: ['size:repos:all'],
      }));
      await server.admin('/admin/quota/groups', { body: { name, rules } });
      for (const owner of owners)
        await server.admin(`/admin/quota/groups/${name}/users/${owner}`, { method: 'PUT' });
    },
  };
}

/** A text with numbered lines, which packs to a fiftieth or so. */
export function text(bytes: number): string {
  const lines: string[] = [];
  for (let length = 0, at = 0; length < bytes; at++) {
    const line = `${at >> 4} the quick brown fox jumps over the lazy dog, again and again, until it is late\n`;
    lines.push(line);
    length += line.length;
  }
  return lines.join('').slice(0, bytes);
}

export async function commit(clone: Clone, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(clone.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  await clone.git('add', '--all');
  await clone.git('commit', '-q', '-m', 'a change');
}

/** Commits many small files, and others beside them, to a branch of their own. */
export async function commitMany(
  clone: Clone,
  branch: string,
  others: Readonly<Record<string, string | Buffer>> = {},
): Promise<void> {
  const small = Array.from(
    { length: many },
    (_, at) => [`many/${at % 256}/${at}`, `${branch} ${at}`] as const,
  );
  const files = [...small, ...Object.entries(others)].flatMap(([name, content]) => [
    Buffer.from(`M 100644 inline ${name}\ndata ${Buffer.byteLength(content)}\n`),
    Buffer.from(content),
    Buffer.from('\n'),
  ]);
  const who = 'Somebody <somebody@git.example> 1700000000 +0000';
  const head = Buffer.from(`commit refs/heads/${branch}\ncommitter ${who}\ndata 4\nmany\n`);
  const input = Buffer.concat([head, ...files]);
  await must('git', ['fast-import', '--quiet'], { cwd: clone.folder, input });
}

/** Types the lines of the advice that follows these words, as they stand. */
export async function follow(clone: Clone, said: string, words: string): Promise<void> {
  const lines = said.split('\n');
  const from = lines.findIndex(line => line.includes(words)) + 1;
  const end = lines.findIndex((line, at) => at >= from && !line.startsWith('  '));
  const script = lines.slice(from, end).join('\n');
  const env = { ...identity, HOME: clone.folder };
  const typed = await run('bash', ['-ec', script], { cwd: clone.folder, env });
  if (typed.code !== 0 || script === '') throw new Error(`${script}: ${typed.code}\n${typed.stderr}`);
}
