/**
 * Puts our scripts where one copy serves many repositories, or other programs than git. Such is the directory
 * that a forge has git copy into its new repositories, so that they are guarded before the first push: a
 * forge replaces `hooks/pre-receive` of a repository that it makes, and leaves alone what its own hook runs.
 */

import { basename, dirname, join, resolve } from 'node:path';
import { isWithin } from '../../layout/index.ts';
import { belongingOf, Folder, physicalPath, reasonOf } from './folder.ts';
import {
  customFolder,
  defaultSettings,
  filled,
  folderFile,
  type HookName,
  type HookSettings,
  hookNames,
  isOurs,
  programNames,
} from './hook.ts';
import { isInPlace } from './inspect.ts';
import {
  type InstalledHooks,
  type InstallResult,
  installForGitlab,
  installIn,
  ownedLike,
  type WantedSettings,
} from './install.ts';

export interface ForgeTemplate {
  /** The directory in which the forge keeps its repositories. */
  readonly root: string;
  readonly template: string;
  /** The place for the lines, as a sentence without its end. */
  readonly where: string;
  /** The settings that make the forge use the template. */
  readonly lines: readonly string[];
  /** Why it could not be written; null where it was. */
  readonly fault: string | null;
}

type Kind = 'gitea' | 'gogs';

/** The template's folder below the forge's root. */
const place = '.softquota/template';

/** The folder of a hook of ours below the template, and its name there. */
function placeOf(kind: Kind, name: HookName): readonly [folder: string, file: string] {
  return kind === 'gogs' ? [customFolder, name] : [`hooks/${name}.d`, folderFile];
}

/**
 * Writes a template for each of the roots below which repositories of a forge were found; with `areForges`,
 * for all, as those of Gitea.
 */
export async function writeForgeTemplates(
  roots: readonly string[],
  results: readonly InstallResult[],
  wanted: WantedSettings,
  areForges = false,
): Promise<readonly ForgeTemplate[]> {
  const written: ForgeTemplate[] = [];
  for (const root of roots) {
    const path = await pathOfRoot(root);
    if (path === null) continue;
    const kind = kindBelow(path, results) ?? (areForges ? 'gitea' : null);
    if (kind === null) continue;
    const template = join(path, place);
    const fault = await write(path, kind, { ...defaultSettings, ...wanted }).then(() => null, reasonOf);
    written.push({ root: path, template, ...advice(kind, template), fault });
  }
  return written;
}

/** The root without links; null where it is not there or cannot be reached, which has been said by then. */
function pathOfRoot(root: string): Promise<string | null> {
  return physicalPath(root).catch(() => null);
}

/** The forge whose repositories lie below the root; null where there are none, or the root is one itself. */
function kindBelow(root: string, results: readonly InstallResult[]): Kind | null {
  for (const result of results) {
    if ('fault' in result || result.repository === root || !isWithin(result.repository, root)) continue;
    const { file } = result.hooks['pre-receive'];
    if (file.startsWith(`${customFolder}/`)) return 'gogs';
    if (file.endsWith(`/${folderFile}`)) return 'gitea';
  }
  return null;
}

function advice(kind: Kind, template: string): Pick<ForgeTemplate, 'where' | 'lines'> {
  if (kind === 'gogs')
    return {
      where: 'Run this as the user of Gogs',
      lines: [`git config --global init.templateDir ${template}`],
    };
  return {
    where:
      "Put this into the app.ini of Gitea or Forgejo, and restart it; it does not read git's system configuration",
    lines: ['[git.config]', `init.templateDir = ${template}`],
  };
}

async function write(root: string, kind: Kind, settings: HookSettings): Promise<void> {
  await using top = await Folder.open(root);
  const made = { ...belongingOf(top.stats), mode: 0o755 };
  await using template = await top.directoryOrMade(place, made);
  // Gogs writes its own hooks there, and makes no repository where it is missing.
  if (kind === 'gogs') await (await template.directoryOrMade('hooks', made)).close();
  for (const name of hookNames) {
    const [path, file] = placeOf(kind, name);
    const content = filled(name, settings);
    await using folder = await template.directoryOrMade(path, made);
    if (!isInPlace(content, folder.entry(file))) await folder.write(file, content, made);
  }
  // Release 0.1 wrote softquota.* settings there, for each new repository.
  if (template.entry('config').kind === 'file') await template.remove('config');
}

/** The result for one root: the template that was taken out, or why not. */
export interface RemovedTemplate {
  readonly template: string;
  readonly fault: string | null;
}

/** Takes the templates below these roots out again. Nothing of other people is touched. */
export async function removeForgeTemplates(roots: readonly string[]): Promise<readonly RemovedTemplate[]> {
  const removed: RemovedTemplate[] = [];
  for (const root of roots) {
    const path = await pathOfRoot(root);
    if (path === null) continue;
    const template = join(path, place);
    try {
      await using top = await Folder.open(path);
      let isThere = false;
      for (const kind of ['gitea', 'gogs'] as const)
        for (const name of hookNames) {
          const [folder, file] = placeOf(kind, name);
          if (await removeBelow(top, `${place}/${folder}`.split('/'), name, file)) isThere = true;
        }
      if (isThere) removed.push({ template, fault: null });
    } catch (error) {
      removed.push({ template, fault: reasonOf(error) });
    }
  }
  return removed;
}

/**
 * Removes our file from a directory below another, and then what has become empty; false where it is not
 * there.
 */
async function removeBelow(
  folder: Folder,
  [name, ...below]: readonly string[],
  hook: HookName,
  file: string,
): Promise<boolean> {
  if (name === undefined) {
    if (!isOurs(hook, folder.entry(file))) return false;
    await folder.remove(file);
    return true;
  }
  await using next = await folder.directory(name);
  if (next === null || !(await removeBelow(next, below, hook, file))) return false;
  await folder.removeEmpty(name);
  return true;
}

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
