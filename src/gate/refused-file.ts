/** Writing the file: all of it or nothing, with the rights of the socket beside it. */

import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';

/** Characters that are put together before others get a turn on the loop. */
const pieceCharacters = 64 * 1024;

/** The permissions of a socket, as its directory entry has them or will have them once it is created. */
interface Rights {
  readonly mode: number;
  /** Null: the daemon's own. */
  readonly gid: number | null;
}

/** The socket's rights; `mode` where there is no such file. Rejects with the system's error. */
export async function rightsOf(socket: string, mode: number): Promise<Rights> {
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
export async function publishFile(file: string, lines: Iterable<string>, rights: Rights): Promise<void> {
  const draft = `${file}.new`;
  // One that a killed daemon left. Nothing is written through what may be there instead.
  await rm(draft, { force: true });
  const handle = await open(draft, 'wx', 0o600);
  try {
    for (const piece of piecesOf(lines)) await handle.writeFile(piece);
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
export async function doubtAbout(file: string): Promise<string | null> {
  const directory = dirname(file);
  if (((await stat(directory)).mode & 0o022) === 0) return null;
  return `other users than the daemon's can write ${directory}, so hooks do not trust the list there`;
}

function* piecesOf(lines: Iterable<string>): Generator<string | Buffer> {
  let piece = '';
  for (const line of lines) {
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
