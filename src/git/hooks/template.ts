/**
 * The directory that a forge has git copy into its new repositories, so that they are guarded before the
 * first push.
 *
 * A forge replaces `hooks/pre-receive` of a repository that it makes, and leaves alone what its own hook
 * runs.
 */

import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWithin } from '../../layout/index.ts';
import { openBelow, type PlaceBelow, placeOf } from './below.ts';
import { type Belonging, Folder } from './folder.ts';
import type { HookSettings } from './future.ts';
import { customFolder, folderFile, hookNames } from './hook.ts';
import { isOurEntry } from './inspect.ts';
import type { InstallReport, InstallResult } from './install.ts';
import { physicalPath } from './physical.ts';
import { reasonOf } from './reason.ts';
import { git } from './settings.ts';
import { StubChoice } from './shared.ts';

export interface ForgeTemplate {
  /** The directory in which the forge keeps its repositories. */
  readonly root: string;
  readonly template: string;
  /** Where the lines go, as a sentence without its end. */
  readonly where: string;
  /** What makes the forge use the template. */
  readonly lines: readonly string[];
  /** Why it could not be written; null where it was. */
  readonly fault: string | null;
}

/** Where the template lies below the forge's root. */
const usualPlace = '.softquota/template';

type Kind = 'gitea' | 'gogs';

export interface TemplateOptions {
  /** Instead of the usual place below the root. */
  readonly directory?: string;
  /** The roots that are known to be those of Gitea or Forgejo, also while they have no repository. */
  readonly known?: readonly string[];
}

/**
 * Writes a template for each of the roots below which `installHooks` found repositories of a forge, and for
 * those that are known to be a forge's.
 */
export async function writeForgeTemplates(
  roots: readonly string[],
  report: InstallReport,
  { directory, known = [] }: TemplateOptions,
): Promise<readonly ForgeTemplate[]> {
  const written: ForgeTemplate[] = [];
  for (const root of roots) {
    const path = await placeOfRoot(root);
    if (path === null) continue;
    const kind = kindBelow(path, report.repositories) ?? (known.includes(root) ? 'gitea' : null);
    if (kind === null) continue;
    const template = directory ?? join(path, usualPlace);
    const told = { root: path, template, ...advice(kind, template) };
    try {
      const place = directory === undefined ? { base: path, below: usualPlace } : placeOf(directory);
      await write(place, kind, report);
      written.push({ ...told, fault: null });
    } catch (error) {
      written.push({ ...told, fault: reasonOf(error) });
    }
  }
  return written;
}

/** The root without links; null where it is not there or cannot be reached, which has been said by then. */
function placeOfRoot(root: string): Promise<string | null> {
  return physicalPath(root).catch(() => null);
}

/** The result for one root: the template that was taken out, or why not. */
export interface RemovedTemplate {
  readonly template: string;
  readonly fault: string | null;
}

/** Takes the templates at the usual place below these roots out again. Nothing of other people is touched. */
export async function removeForgeTemplates(roots: readonly string[]): Promise<readonly RemovedTemplate[]> {
  const removed: RemovedTemplate[] = [];
  for (const root of roots) {
    const path = await placeOfRoot(root);
    if (path === null) continue;
    const template = join(path, usualPlace);
    try {
      if (await removeBelow(path, usualPlace.split('/'), removeTemplate))
        removed.push({ template, fault: null });
    } catch (error) {
      removed.push({ template, fault: reasonOf(error) });
    }
  }
  return removed;
}

/**
 * Does something in a directory below another, then removes what has become empty; false where it is not
 * there.
 */
async function removeBelow(
  path: string,
  names: readonly string[],
  act: (folder: Folder) => Promise<boolean>,
): Promise<boolean> {
  const folder = await Folder.open(path);
  try {
    return await inBelow(folder, names, act);
  } finally {
    await folder.close();
  }
}

async function inBelow(
  folder: Folder,
  [name, ...others]: readonly string[],
  act: (folder: Folder) => Promise<boolean>,
): Promise<boolean> {
  if (name === undefined) return act(folder);
  const next = await folder.directory(name);
  if (next === null) return false;
  try {
    if (!(await inBelow(next, others, act))) return false;
  } finally {
    await next.close();
  }
  await folder.removeEmpty(name);
  return true;
}

async function removeTemplate(template: Folder): Promise<boolean> {
  let isOurTemplate = false;
  for (const name of hookNames) {
    for (const [names, file] of [
      [['hooks', `${name}.d`], folderFile],
      [[customFolder], name],
    ] as const) {
      const removed = await inBelow(template, names, async folder => {
        if (!isOurEntry(name, folder.entry(file))) return false;
        await folder.remove(file);
        return true;
      });
      isOurTemplate ||= removed;
    }
  }
  if (isOurTemplate) {
    if (template.entry('config').kind === 'file') await template.remove('config');
    await template.removeEmpty('hooks');
  }
  return isOurTemplate;
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
  if (kind === 'gitea') {
    return {
      where:
        "Put this into the app.ini of Gitea or Forgejo, and restart it; it does not read git's system configuration",
      lines: ['[git.config]', `init.templateDir = ${template}`],
    };
  }
  return {
    where: 'Run this as the user of Gogs',
    lines: [`git config --global init.templateDir ${template}`],
  };
}

async function write(at: PlaceBelow, kind: Kind, report: InstallReport): Promise<void> {
  const { uid, gid } = await stat(at.base);
  const contents = await new StubChoice(report.shared).contentsFor(uid);
  const made: Belonging = { mode: 0o755, uid, gid };
  const template = await openBelow(at, made);
  try {
    const config = await configText(report.settings);
    await replaceIfOther(template, 'config', config, { ...made, mode: 0o644 });
    // Gogs writes its own hooks there, and makes no repository where it is missing.
    if (kind === 'gogs') await (await openBelow({ base: template.path, below: 'hooks' }, made)).close();
    for (const name of hookNames) {
      const [folder, file] = kind === 'gogs' ? [customFolder, name] : [`hooks/${name}.d`, folderFile];
      const place = await openBelow({ base: template.path, below: folder }, made);
      try {
        await replaceIfOther(place, file, contents.bytes(name), made);
      } finally {
        await place.close();
      }
    }
  } finally {
    await template.close();
  }
}

async function replaceIfOther(
  folder: Folder,
  name: string,
  bytes: Buffer,
  belonging: Belonging,
): Promise<void> {
  const entry = folder.entry(name);
  if (entry.kind === 'file' && entry.bytes.equals(bytes) && (entry.stats.mode & 0o777) === belonging.mode)
    return;
  await folder.write(name, bytes, belonging);
}

/** As git writes it. */
async function configText(settings: HookSettings): Promise<Buffer> {
  const workshop = await mkdtemp(join(tmpdir(), 'softquota-'));
  try {
    const file = join(workshop, 'config');
    for (const [name, value] of Object.entries(settings)) {
      if (typeof value === 'string') await git(['config', '--file', file, `softquota.${name}`, value]);
    }
    return await readFile(file);
  } finally {
    await rm(workshop, { recursive: true });
  }
}
