/** Puts our scripts where one copy serves many repositories, or other programs than git. */

import { basename, dirname, resolve } from 'node:path';
import { Folder, physicalPath } from './folder.ts';
import { defaultSettings, filled, programNames } from './head.ts';
import { isInPlace } from './inspect.ts';
import {
  type InstalledHooks,
  installForGitlab,
  installIn,
  ownedLike,
  type WantedSettings,
} from './install.ts';

export interface GlobalHooks {
  readonly directory: string;
  readonly hooks: InstalledHooks;
}

/**
 * Puts both hooks into a directory: for core.hooksPath, or for Gitaly's custom_hooks_dir, which runs what
 * lies in its NAME.d. It is made where it is missing, but not those above it.
 */
export async function installGlobally(
  directory: string,
  server: 'git' | 'gitlab',
  wanted: WantedSettings,
): Promise<GlobalHooks> {
  await using folder = await openOrMake(directory);
  const hooks =
    server === 'gitlab' ? await installForGitlab(folder, wanted) : await installIn(folder, { wanted });
  return { directory: folder.path, hooks };
}

/**
 * Writes upload, quota and receive-pack/git with the settings of this server into a directory; gives their
 * paths.
 */
export async function writePrograms(directory: string, wanted: WantedSettings): Promise<readonly string[]> {
  await using folder = await openOrMake(directory);
  const written: string[] = [];
  for (const name of programNames) {
    const below = dirname(name);
    await using inner = below === '.' ? null : await folder.directoryOrMade(below, made(folder));
    const [place, file] = [inner ?? folder, basename(name)];
    const content = filled(name, { ...defaultSettings, ...wanted });
    if (!isInPlace(content, place.entry(file))) await place.write(file, content, ownedLike(place));
    written.push(`${place.path}/${file}`);
  }
  return written;
}

async function openOrMake(directory: string): Promise<Folder> {
  const path = resolve(directory);
  const found = await Folder.find(path);
  if (found !== null) return found;
  const above = dirname(path);
  await using folder = await Folder.open((await physicalPath(above)) ?? above);
  return await folder.directoryOrMade(basename(path), made(folder));
}

function made({ stats }: Folder) {
  return { mode: 0o755, uid: stats.uid, gid: stats.gid };
}
