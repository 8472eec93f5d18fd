/** Disks that do not answer: of file servers, and of programs in user space. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { printable, shellQuoted } from '../text/index.ts';
import { hasOwnTimes, mountsIn } from './mounts.ts';
import { decodePath } from './path.ts';

/** A file server that is only slow answers in this time. */
const answerMs = 5000;

/** Asks all of them at once, each by a process of its own: nobody can end a call to a disk that hangs. */
export async function hungMounts(signal: AbortSignal): Promise<readonly string[]> {
  const places = placesAsked();
  const answers = await Promise.all(places.map(place => doesAnswer(place, signal)));
  return places.filter((_, at) => answers[at] === false);
}

function placesAsked(): readonly string[] {
  try {
    const mounts = mountsIn(decodePath(readFileSync('/proc/self/mountinfo')));
    return mounts.filter(mount => !hasOwnTimes(mount)).map(({ at }) => at);
  } catch {
    return []; // a system without /proc
  }
}

function doesAnswer(place: string, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn('stat', ['-f', '--', place], { stdio: 'ignore', signal, killSignal: 'SIGKILL' });
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    child.unref();
    resolve(false);
  }, answerMs);
  for (const event of ['exit', 'error']) {
    child.on(event, () => {
      clearTimeout(timer);
      resolve(true);
    });
  }
  return promise;
}

/** A sentence that names the disk, and what to do. */
export function hangWords(mount: string): string {
  // Unlike --target, this asks the system's list and not the disk.
  const look = `findmnt --mountpoint ${shellQuoted(mount)}`;
  return printable(
    `the disk at ${mount} does not answer, so nothing on it was changed: find its server (${look}), then run this again`,
  );
}
