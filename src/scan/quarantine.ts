/** Looks at the quarantine of a push. Synchronous, for a thread of its own. */

import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import { encodePath, type Quarantine } from '../layout/index.ts';

type Look =
  | { readonly is: 'seen'; readonly quarantine: Quarantine }
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable' };

/** The packs that hold no object, by SHA-1 and by SHA-256. */
const emptyPacks: ReadonlySet<string> = new Set([
  'pack-029d08823bd8a8eab510ad6ac75c823cfd3ed31e.pack',
  'pack-7ed890d8a45760f3eecf73045b1d1047085af4776dc683d78eac82203df1993f.pack',
]);

/** The quarantine with this name in a directory; a link is none. */
export function lookAtQuarantine(
  objectsDirectory: string,
  name: string,
  measure: 'apparent' | 'allocated',
): Look {
  const place = `${objectsDirectory}/${name}`;
  let bytes = 0;
  const objects: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(encodePath(place + folder), {
      withFileTypes: true,
      encoding: 'latin1',
    })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      if (!entry.isFile()) continue;
      const stats: Stats = lstatSync(encodePath(place + path));
      bytes += measure === 'allocated' ? stats.blocks * 512 : stats.size;
      const isPack = path.startsWith('/pack/') && path.endsWith('.pack') && !emptyPacks.has(entry.name);
      if (isPack || /^\/[0-9a-f]{2}\/[0-9a-f]+$/.test(path)) objects.push(path.slice(1));
    }
  };
  try {
    const stats = lstatSync(encodePath(place), { bigint: true });
    if (!stats.isDirectory()) return { is: 'absent' };
    visit('');
    const id = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
    const sample = objects[0] ?? null;
    return { is: 'seen', quarantine: { name, id, bytes, hasObjects: objects.length > 0, sample } };
  } catch (error) {
    return { is: systemCode(error) === 'ENOENT' ? 'absent' : 'unreadable' };
  }
}
