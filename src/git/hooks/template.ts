/**
 * Writes our scripts to places that serve many repositories, or other programs than git. One of them is the
 * template directory that git copies into a forge's new repositories, so that they are guarded before the
 * first push: a forge replaces `hooks/pre-receive` of a new repository, but not the hooks that its own hook
 * runs.
 */

import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isWithin } from '../../layout/index.ts';
import { Folder, physicalPath, reasonOf } from './folder.ts';
import { customFolder, defaultSettings, filled, folderFile, programNames } from './hook.ts';
import { isInPlace } from './inspect.ts';
import {
  type InstalledHooks,
  type InstallResult,
  installIn,
  ownedLike,
  removeFrom,
  type WantedSettings,
} from './install.ts';

export interface ForgeTemplate {
  readonly root: string;
  readonly template: string;
  /** Place for the lines, as a sentence without its full stop. */
  readonly where: string;
  /** The settings that make the forge use the template. */
  readonly lines: readonly string[];
  /** Why the template could not be written; null if it was. */
  readonly fault: string | null;
}

type Kind = 'gitea' | 'gogs' | 'soft-serve';

/** Our folder below the forge's root, and the name of the template in it. */
const ownFolder = '.softquota';
const templateFolder = 'template';
/** The hook of soft-serve in hooks/NAME.d. */
const softServeFile = 'soft-serve';

/** Writes a template for each root with repositories of a forge; `areForges`: for all roots, as for Gitea. */
export async function writeForgeTemplates(
  roots: readonly string[],
  results: readonly InstallResult[],
  wanted: WantedSettings,
  areForges = false,
): Promise<readonly ForgeTemplate[]> {
  const written: ForgeTemplate[] = [];
  for (const path of await pathsOf(roots)) {
    const kind = (await kindBelow(path, results)) ?? (areForges ? 'gitea' : null);
    if (kind === null) continue;
    const template = join(path, ownFolder, templateFolder);
    const fault = await write(path, kind, wanted).then(() => null, reasonOf);
    written.push({ root: path, template, ...advice(kind, template), fault });
  }
  return written;
}

/** Resolves links in the roots. A missing or unreachable root is left out; it was reported before. */
async function pathsOf(roots: readonly string[]): Promise<readonly string[]> {
  const paths = await Promise.all(roots.map(root => physicalPath(root).catch(() => null)));
  return paths.filter(path => path !== null);
}

/** Finds the forge whose repositories lie below the root; null if none, or if the root is one itself. */
async function kindBelow(root: string, results: readonly InstallResult[]): Promise<Kind | null> {
  for (const result of results) {
    if ('fault' in result || result.repository === root || !isWithin(result.repository, root)) continue;
    const { file } = result.hooks['pre-receive'];
    if (file.startsWith(`${customFolder}/`)) return 'gogs';
    if (!file.endsWith(`/${folderFile}`)) continue;
    const beside = join(result.repository, dirname(file), softServeFile);
    return await stat(beside).then(
      () => 'soft-serve',
      () => 'gitea',
    );
  }
  return null;
}

function advice(kind: Kind, template: string): Pick<ForgeTemplate, 'where' | 'lines'> {
  if (kind !== 'gitea')
    return {
      where: `Run this as the user of ${kind === 'gogs' ? 'Gogs' : 'soft-serve'}`,
      lines: [`git config --global init.templateDir ${template}`],
    };
  return {
    where:
      "Put this into the app.ini of Gitea or Forgejo, and restart it; it does not read git's system configuration",
    lines: ['[git.config]', `init.templateDir = ${template}`],
  };
}

async function write(root: string, kind: Kind, wanted: WantedSettings): Promise<void> {
  await using top = await Folder.open(root);
  const made = madeIn(top);
  await using template = await top.directoryOrMade(`${ownFolder}/${templateFolder}`, made);
  // Gogs writes its own hooks there, and cannot create a repository without this folder.
  await using hooks = await template.directoryOrMade('hooks', made);
  if (kind !== 'gogs') await installIn(hooks, { wanted, onlyFolders: true });
  else {
    await using custom = await template.directoryOrMade(customFolder, made);
    await installIn(custom, { wanted });
  }
}

/** Removes the templates below these roots, or returns why not. Files of other people are not touched. */
export async function removeForgeTemplates(
  roots: readonly string[],
): Promise<readonly Pick<ForgeTemplate, 'template' | 'fault'>[]> {
  const removed: Pick<ForgeTemplate, 'template' | 'fault'>[] = [];
  for (const path of await pathsOf(roots)) {
    const place = join(path, ownFolder, templateFolder);
    try {
      await using top = await Folder.open(path);
      await using own = await top.directory(ownFolder);
      await using template = (await own?.directory(templateFolder)) ?? null;
      if (own === null || template === null || !(await removeFromAll(template))) continue;
      await own.removeEmpty(templateFolder);
      await top.removeEmpty(ownFolder);
      removed.push({ template: place, fault: null });
    } catch (error) {
      removed.push({ template: place, fault: reasonOf(error) });
    }
  }
  return removed;
}

async function removeFromAll(template: Folder): Promise<boolean> {
  let areThere = false;
  for (const name of ['hooks', customFolder]) {
    await using hooks = await template.directory(name);
    if (hooks === null || Object.values(await removeFrom(hooks)).every(each => each === 'absent')) continue;
    areThere = true;
    await template.removeEmpty(name);
  }
  return areThere;
}

export interface GlobalHooks {
  readonly directory: string;
  readonly hooks: InstalledHooks;
}

/**
 * Puts both hooks into a directory for core.hooksPath, or Gitaly's custom_hooks_dir, with existing parent.
 */
export async function installGlobally(
  directory: string,
  server: 'git' | 'gitlab',
  wanted: WantedSettings,
): Promise<GlobalHooks> {
  await using folder = await openOrMake(directory);
  const hooks = await installIn(folder, { wanted, onlyFolders: server === 'gitlab' });
  return { directory: folder.path, hooks };
}

/** Writes upload, quota and receive-pack with these settings into a directory; returns their paths. */
export async function writePrograms(directory: string, wanted: WantedSettings): Promise<readonly string[]> {
  await using folder = await openOrMake(directory);
  const written: string[] = [];
  for (const name of programNames) {
    const below = dirname(name);
    await using inner = below === '.' ? null : await folder.directoryOrMade(below, madeIn(folder));
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
  return await folder.directoryOrMade(basename(path), madeIn(folder));
}

function madeIn({ stats }: Folder) {
  return { mode: 0o755, uid: stats.uid, gid: stats.gid };
}
