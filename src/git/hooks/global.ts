/** Puts our scripts where one copy serves many repositories, or other programs than git. */

import { resolve } from 'node:path';
import { Folder } from './folder.ts';
import { defaultSettings, filled, programNames } from './head.ts';
import { isInPlace } from './inspect.ts';
import {
  type InstalledHooks,
  installForGitlab,
  installIn,
  ownedLike,
  type WantedSettings,
} from './install.ts';
import { physicalPath } from './physical.ts';

export interface GlobalHooks {
  readonly directory: string;
  readonly hooks: InstalledHooks;
}

/**
 * Puts both hooks into a directory: for core.hooksPath, or for Gitaly's custom_hooks_dir, which runs what lies in
 * its NAME.d. It is made where it is missing, but not those above it.
 */
export async function installGlobally(
  directory: string,
  server: 'git' | 'gitlab',
  wanted: WantedSettings,
): Promise<GlobalHooks> {
  const folder = await openOrMake(directory);
  try {
    const hooks =
      server === 'gitlab' ? await installForGitlab(folder, wanted) : await installIn(folder, { wanted });
    return { directory: folder.path, hooks };
  } finally {
    await folder.close();
  }
}

/** Writes upload, quota and receive-pack/git with the settings of this server into a directory; gives their paths. */
export async function writePrograms(directory: string, wanted: WantedSettings): Promise<readonly string[]> {
  const folder = await openOrMake(directory);
  try {
    const written: string[] = [];
    for (const name of programNames) {
      const [below, file] = name === 'receive-pack/git' ? ['receive-pack', 'git'] : [null, name];
      const place = below === null ? folder : await existingOrMade(folder, below);
      try {
        const content = filled(name, { ...defaultSettings, ...wanted });
        if (!isInPlace(content, place.entry(file))) await place.write(file, content, ownedLike(place));
        written.push(`${place.path}/${file}`);
      } finally {
        if (place !== folder) await place.close();
      }
    }
    return written;
  } finally {
    await folder.close();
  }
}

async function openOrMake(directory: string): Promise<Folder> {
  const path = resolve(directory);
  const found = await physicalPath(path);
  if (found !== null) return Folder.open(found);
  const at = path.lastIndexOf('/');
  const above = await Folder.open((await physicalPath(path.slice(0, at) || '/')) ?? path.slice(0, at));
  try {
    return await above.makeDirectory(path.slice(at + 1), made(above));
  } finally {
    await above.close();
  }
}

async function existingOrMade(folder: Folder, name: string): Promise<Folder> {
  return (await folder.directory(name)) ?? (await folder.makeDirectory(name, made(folder)));
}

function made({ stats }: Folder) {
  return { mode: 0o755, uid: stats.uid, gid: stats.gid };
}
