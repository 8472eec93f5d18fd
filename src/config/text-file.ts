/** Reads the small text files that a configuration consists of. */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { systemCode } from '../errors.ts';

export type TextFile =
  | { readonly ok: true; readonly text: string; readonly uid: number }
  | { readonly ok: false; readonly absent: boolean; readonly problem: string };

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'it may not be read by this user',
  EPERM: 'it may not be read by this user',
  ELOOP: 'its links lead in a circle',
  EISDIR: 'it is a directory, not a file',
};

/** The whole text of a regular file of at most `mostBytes`, without a byte order mark. */
export function readTextFile(path: string, mostBytes: number): TextFile {
  const fault = (problem: string, absent = false): TextFile => ({ ok: false, absent, problem });
  if (path.includes('\0')) return fault('its name has a NUL character');
  try {
    // Not to wait for somebody to write into a pipe.
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const about = fstatSync(descriptor);
      if (about.isDirectory()) return fault('it is a directory, not a file');
      if (!about.isFile()) return fault('it is not a regular file');
      const bytes = readAtMost(descriptor, mostBytes + 1);
      if (bytes.length > mostBytes) return fault(`it is larger than ${mostBytes / 1024} KiB`);
      return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), uid: about.uid };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return fault('it is not UTF-8 text');
    if (code === null) throw error;
    return fault(problems[code] ?? `it cannot be read (${code})`, code === 'ENOENT' || code === 'ENOTDIR');
  }
}

function readAtMost(descriptor: number, most: number): Uint8Array {
  const buffer = Buffer.alloc(most);
  let length = 0;
  while (length < most) {
    const read = readSync(descriptor, buffer, length, most - length, null);
    if (read === 0) break;
    length += read;
  }
  return buffer.subarray(0, length);
}
