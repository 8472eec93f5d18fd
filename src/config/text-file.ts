/** Reads the small text files that a configuration consists of. */

import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { beforeFollow, saysHangs } from '../layout/index.ts';

type TextFile =
  | { readonly ok: true; readonly text: string; readonly uid: number }
  | { readonly ok: false; readonly absent: boolean; readonly problem: string };

const problems = {
  link: 'its links lead in a circle',
  directory: 'it is a directory, not a file',
  special: 'it is not a regular file',
} as const;

/** The whole text of a regular file of at most `mostBytes`, without a byte order mark. */
export function readTextFile(path: string, mostBytes: number): TextFile {
  const fault = (problem: string, absent = false): TextFile => ({ ok: false, absent, problem });
  if (path.includes('\0')) return fault('its name has a NUL character');
  try {
    beforeFollow(path);
    const file = readBounded(path, { follow: true, mostBytes });
    if (file.kind === 'absent') return fault('there is no such file', true);
    if (file.kind !== 'file') return fault(problems[file.kind]);
    if (!file.whole) return fault(`it is larger than ${mostBytes / 1024} KiB`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(file.bytes);
    return { ok: true, text, uid: file.stats.uid };
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return fault('it is not UTF-8 text');
    if (code === null) throw error;
    const isDenied = code === 'EACCES' || code === 'EPERM';
    if (saysHangs(error)) return fault('its disk does not answer');
    return fault(isDenied ? 'this user has no permission to read it' : `it cannot be read (${code})`);
  }
}
