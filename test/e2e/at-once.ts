/** Many pushes at the same time into one repository, and a gate that tells nobody what the daemon answered. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import type { Clone } from './clone.ts';
import { must } from './run.ts';

/** Commits without a parent, each with a file of so many bytes that cannot be compressed; gives the branches. */
export async function manyCommits(clone: Clone, count: number, bytes: number): Promise<readonly string[]> {
  const branches = Array.from({ length: count }, (_, at) => `p${at}`);
  const who = 'Somebody <somebody@git.example> 1700000000 +0000';
  const commits = branches.map(branch =>
    Buffer.concat([
      Buffer.from(
        `commit refs/heads/${branch}\ncommitter ${who}\ndata 1\n-\nM 100644 inline file\ndata ${bytes}\n`,
      ),
      randomBytes(bytes),
      Buffer.from('\n'),
    ]),
  );
  await must('git', ['fast-import', '--quiet'], { cwd: clone.folder, input: Buffer.concat(commits) });
  return branches;
}

/** Between the hooks and the daemon. */
export interface Between {
  /** Number of questions about pushes that the daemon answered with "go on". */
  readonly allowed: () => number;
  /** Drops the daemon's answers from now on: each connection ends instead. */
  loseAnswers(isLost: boolean): void;
}

/**
 * Listens at a socket and passes all on to the gate. `onAllowed` is called before an answer "go on" is passed
 * on, which waits for it.
 */
export async function openBetween(
  t: Test,
  { socket, gate, onAllowed }: { socket: string; gate: string; onAllowed: () => void },
): Promise<Between> {
  let allowed = 0;
  let isLost = false;
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, client => {
    const daemon = connect({ path: gate, allowHalfOpen: true });
    for (const socket of [client, daemon]) {
      open.add(socket);
      socket
        .on('close', () => open.delete(socket))
        .on('error', () => {
          client.destroy();
          daemon.destroy();
        });
    }
    client.pipe(daemon);
    daemon.on('data', (chunk: Buffer) => {
      if (/^HTTP\/1\.[01] 200 /.test(chunk.toString('latin1'))) {
        allowed += 1;
        onAllowed();
      }
      if (isLost) client.destroy();
      else client.write(chunk);
    });
    daemon.on('end', () => client.end());
    client.on('close', () => daemon.destroy());
  });
  server.listen(socket);
  await once(server, 'listening');
  t.teardown(() => {
    for (const each of open) each.destroy();
    server.close();
  });
  return {
    allowed: () => allowed,
    loseAnswers: lost => {
      isLost = lost;
    },
  };
}
