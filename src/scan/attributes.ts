/**
 * Reads an extended attribute of directories whose value is a number of bytes.
 *
 * Node.js has no call for it, so getfattr(1) reads the attributes of many directories at a time. It is given
 * the directories as open descriptors: their names may be any bytes and of any length, no link is followed, and
 * a disk that hangs is met by this thread, which says before where it looks. Synchronous, for walkers.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, encodePath, saysHangs } from '../layout/index.ts';
import { printable } from '../text/index.ts';

export type AttributeReading =
  | { readonly bytes: number }
  /** No directory is there. */
  | { readonly isGone: true }
  /** The disk did not answer in time. */
  | { readonly isHung: true }
  /** Why there is no figure, for a person. */
  | { readonly fault: string };

export interface ReadingOptions {
  /** getfattr(1) unless given. */
  readonly program?: string;
  readonly timeoutMs?: number;
}

const usualTimeoutMs = 10_000;
/** So many directories are open at a time. */
const mostAtOnce = 64;
/** The kernel takes values of up to 64 KiB, of which each byte is printed as two digits. */
const mostBytesEach = 140_000;
/** The descriptors of the program behind its standard ones. */
const firstDescriptor = 3;

/** The attribute of each of these directories, in their order. */
export function readAttributes(
  name: string,
  paths: readonly string[],
  options: ReadingOptions = {},
): readonly AttributeReading[] {
  const readings: AttributeReading[] = [];
  let isHung = false;
  for (let at = 0; at < paths.length; at += mostAtOnce) {
    const some = paths.slice(at, at + mostAtOnce);
    // A disk that hangs is asked once.
    readings.push(
      ...(isHung ? some.map(() => ({ isHung: true }) as const) : readTogether(name, some, options)),
    );
    isHung ||= readings.some(reading => 'isHung' in reading);
  }
  return readings;
}

function readTogether(
  name: string,
  paths: readonly string[],
  options: ReadingOptions,
): readonly AttributeReading[] {
  const opened: number[] = [];
  try {
    const directories = paths.map(path => {
      const directory = open(path);
      if (typeof directory === 'number') opened.push(directory);
      return directory;
    });
    const found = opened.length === 0 ? [] : ask(name, opened, options);
    let next = 0;
    return directories.map(directory =>
      typeof directory === 'number' ? (found[next++] ?? { fault: 'getfattr said nothing of it' }) : directory,
    );
  } finally {
    for (const directory of opened) closeSync(directory);
  }
}

/** A descriptor, or why there is none. */
function open(path: string): number | AttributeReading {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  try {
    beforeLook(path);
    return openSync(encodePath(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return { isGone: true };
    return saysHangs(code) ? { isHung: true } : { fault: `it cannot be opened: ${code}` };
  }
}

function ask(
  name: string,
  directories: readonly number[],
  { program = 'getfattr', timeoutMs = usualTimeoutMs }: ReadingOptions,
): readonly AttributeReading[] {
  const places = directories.map((_, index) => `/proc/self/fd/${firstDescriptor + index}`);
  const { error, stdout, stderr, signal } = spawnSync(
    program,
    ['--absolute-names', '-e', 'hex', '-n', name, '--', ...places],
    {
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe', ...directories],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: mostBytesEach * directories.length,
      encoding: 'latin1',
    },
  );
  const code = systemCode(error);
  if (code === 'ETIMEDOUT') return directories.map(() => ({ isHung: true }));
  if (code === 'ENOENT') {
    const fault = `${program} is not installed (Debian's package attr)`;
    return directories.map(() => ({ fault }));
  }
  if (error !== undefined || signal !== null) {
    const fault = `${program} failed: ${code ?? signal ?? 'no reason given'}`;
    return directories.map(() => ({ fault }));
  }
  return places.map(place => readingOf(name, place, stdout, stderr));
}

function readingOf(name: string, place: string, stdout: string, stderr: string): AttributeReading {
  const value = valueAfter(stdout, `# file: ${place}\n${name}=0x`);
  if (value !== null) return figureIn(name, Buffer.from(value, 'hex').toString('latin1'));
  const complaint = valueAfter(stderr, `${place}: `)?.replace(`${name}: `, '');
  return { fault: `${name}: ${complaint === undefined ? 'no value' : printable(complaint)}` };
}

/** The rest of the line that begins with this text. */
function valueAfter(text: string, beginning: string): string | null {
  const at = text.indexOf(beginning);
  if (at < 0) return null;
  const from = at + beginning.length;
  const end = text.indexOf('\n', from);
  return text.slice(from, end < 0 ? text.length : end);
}

const mostShown = 40;

function figureIn(name: string, value: string): AttributeReading {
  if (/^\d{1,19}$/.test(value)) return { bytes: Number(value) };
  const shown = printable(value.slice(0, mostShown)) + (value.length > mostShown ? '…' : '');
  return { fault: `${name}: "${shown}" is not a number of bytes` };
}
