/** How things stand with one hook of one repository. */

import { SoftquotaError } from '../errors.ts';
import type { Entry, Folder } from './folder.ts';
import { folderFile, type HookName, isOurs, packagedHook, previousFile, runsFolder } from './hook.ts';

export type HookState =
  /** The repository has no such hook. */
  | { readonly state: 'absent' }
  /** Another hook is there, and ours is not. */
  | { readonly state: 'other' }
  | {
      readonly state: 'installed';
      /** Where ours lies, below the repository. */
      readonly file: string;
      /** Whether it is this version's, and executable: git passes over one that is not. */
      readonly current: boolean;
      /** Whether a hook that was there before goes on as `hooks/NAME.d/50-previous`. */
      readonly previous: boolean;
    };

/** What lies in `hooks` under one hook's names. */
export interface Place {
  readonly name: HookName;
  /** hooks/NAME */
  readonly main: Entry;
  /** Whether hooks/NAME is another's, and runs hooks/NAME.d itself. */
  readonly delegates: boolean;
  /** hooks/NAME.d, held open; null where it is not. */
  readonly folder: Folder | null;
  readonly inFolder: Entry;
  readonly previous: Entry;
}

/** Throws `conflict` where a link or something that is no hook is in the way. */
export async function inspectPlace(hooks: Folder, name: HookName): Promise<Place> {
  const main = await hooks.entry(name);
  mustBeFile(main, `${hooks.path}/${name}`);
  const folder = await hooks.directory(`${name}.d`);
  try {
    const inFolder = (await folder?.entry(folderFile)) ?? { kind: 'absent' };
    const previous = (await folder?.entry(previousFile)) ?? { kind: 'absent' };
    mustBeFile(inFolder, `${hooks.path}/${name}.d/${folderFile}`);
    mustBeFile(previous, `${hooks.path}/${name}.d/${previousFile}`);
    const delegates =
      main.kind === 'file' && isExecutable(main) && !isOurs(name, main.bytes) && runsFolder(name, main.bytes);
    return { name, main, delegates, folder, inFolder, previous };
  } catch (error) {
    await folder?.close();
    throw error;
  }
}

function mustBeFile(entry: Entry, path: string): void {
  if (entry.kind === 'file' || entry.kind === 'absent') return;
  const what = entry.kind === 'link' ? 'a link, and nothing is written through one' : 'not a regular file';
  throw new SoftquotaError('conflict', `${path} is ${what}`);
}

export async function stateOf(place: Place): Promise<HookState> {
  const { name, main, delegates, inFolder, previous } = place;
  const installed = async (file: string, entry: Entry): Promise<HookState> => ({
    state: 'installed',
    file,
    current: await isCurrent(name, entry),
    previous: previous.kind === 'file' && !delegates,
  });
  if (isOurEntry(name, main)) return installed(`hooks/${name}`, main);
  if (delegates && isOurEntry(name, inFolder)) return installed(`hooks/${name}.d/${folderFile}`, inFolder);
  return { state: main.kind === 'file' ? 'other' : 'absent' };
}

export function isOurEntry(name: HookName, entry: Entry): boolean {
  return entry.kind === 'file' && isOurs(name, entry.bytes);
}

/** Whether it is this version's hook, byte by byte, and git would run it. */
export async function isCurrent(name: HookName, entry: Entry): Promise<boolean> {
  return entry.kind === 'file' && isExecutable(entry) && entry.bytes.equals(await packagedHook(name));
}

function isExecutable(entry: Entry & { kind: 'file' }): boolean {
  return (entry.stats.mode & 0o100) !== 0;
}
