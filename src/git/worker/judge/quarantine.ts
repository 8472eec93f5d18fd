/** The quarantine of a push that is judged. */

import { lstat } from 'node:fs/promises';
import { encodePath, quarantinePath } from '../../../layout/index.ts';
import { entryNames, isThere } from '../files.ts';
import { isShared, UnusableRepository } from '../space/repository-config.ts';

const lookEveryMs = 250;

/**
 * The path of a quarantine; rejects with an `UnusableRepository` where it is none that belongs to the
 * repository.
 */
export async function quarantineAt(path: string, name: string): Promise<string> {
  const quarantine = quarantinePath(path, name);
  if (quarantine === null) throw new UnusableRepository('its quarantine is none of git');
  const [objects, own] = await Promise.all(
    [`${path}/objects`, quarantine].map(each => lstat(encodePath(each)).catch(() => null)),
  );
  if (objects?.isDirectory() !== true || own?.isDirectory() !== true)
    throw new UnusableRepository('its quarantine is gone');
  const isOurs = own.uid === objects.uid || own.uid === process.geteuid?.() || isShared(path);
  if (own.dev !== objects.dev || !isOurs)
    throw new UnusableRepository('its quarantine lies elsewhere, or is of another user');
  return quarantine;
}

interface Brought {
  /** Packs and loose objects, without the indexes that git writes itself. */
  readonly bytes: number;
  /** One of them that the repository does not have yet; null: it has all. */
  readonly sample: string | null;
}

export async function broughtBy(objects: string, quarantine: string): Promise<Brought> {
  let bytes = 0;
  let sample: string | null = null;
  for (const folder of await entryNames(quarantine)) {
    if (folder !== 'pack' && !/^[0-9a-f]{2}$/.test(folder)) continue;
    for (const each of await entryNames(`${quarantine}/${folder}`)) {
      if (/\.(?:idx|rev|keep)$/.test(each)) continue;
      const file = `${folder}/${each}`;
      bytes += (await lstat(encodePath(`${quarantine}/${file}`))).size;
      if (sample === null && !(await isThere(`${objects}/${file}`))) sample = file;
    }
  }
  return { bytes, sample };
}

/** Aborts once the quarantine is gone: nobody waits for the judgement any more. `end` stops looking. */
export function whileThere(quarantine: string): { readonly signal: AbortSignal; readonly end: () => void } {
  const gone = new AbortController();
  const timer = setInterval(() => {
    isThere(quarantine).then(is => {
      if (!is) gone.abort();
    });
  }, lookEveryMs);
  return { signal: gone.signal, end: () => clearInterval(timer) };
}
