/** Putting the hooks into repositories. */

import type { BoundedFile } from '../../bounded/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { Parts } from '../../layout/index.ts';
import { type Client, findClient } from './client.ts';
import { inEach, type RepositoryFault } from './each.ts';
import { ChangedMeanwhile, type Folder } from './folder.ts';
import { type FutureRepositories, futureRepositories, type HookSettings } from './future.ts';
import { gitlabEvidence, gitlabWords } from './gitlab.ts';
import { customFolder, folderFile, type HookName, hookNames, previousFile } from './hook.ts';
import { type HooksPath, hooksPathFinder } from './hooks-path.ts';
import {
  type HookPlace,
  inspectPlace,
  isCurrent,
  isGogs,
  isInPlace,
  isOurEntry,
  isSkipped,
  stateThrough,
} from './inspect.ts';
import {
  type HookConf,
  hookConfPath,
  isLastFor,
  readHookConf,
  readSettings,
  writeSettings,
} from './settings.ts';
import { type HookContents, isCurrentStub, packageShared, type SharedPlace, StubChoice } from './shared.ts';

const onErrors = ['allow', 'deny', 'last'] as const;

export type OnError = (typeof onErrors)[number];

export interface InstallOptions {
  /** Absolute path of the gate's socket. */
  readonly socket: string;
  /** The decision about a push when nobody can tell; where it is not given, the repository's stays. */
  readonly onError?: OnError;
  /**
   * How long what the daemon last published counts, such as `24h`; where it is not given, the repository's
   * stays.
   */
  readonly lastFor?: string;
  /** The program by which the hooks ask; the quickest that works unless given. */
  readonly client?: Client;
  /** Where the stubs find the hooks, which are there; the package's own directory unless given. */
  readonly shared?: SharedPlace;
  /** Instead of /etc/softquota/hook.conf. */
  readonly hookConf?: string;
  /** The parts that an earlier process at the same work has done. */
  readonly parts?: Parts<InstallDone> | undefined;
}

export interface InstalledHook {
  readonly did: 'installed' | 'updated' | 'unchanged';
  /** Where ours lies, below the repository. */
  readonly file: string;
  /** Where the hook that was there before goes on, below the repository; null where none was. */
  readonly previous: string | null;
  /** Tells whether the previous hook is not executable, so that it does not run; git passed it over, too. */
  readonly skipped: boolean;
}

export interface InstallDone {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, InstalledHook>>;
  /** The outcome for the repository's softquota.* settings; null where hook.conf counts instead. */
  readonly settings: 'written' | 'unchanged' | null;
  /** Where git runs other hooks than these. */
  readonly hooksPath: HooksPath | null;
}

export type InstallResult = InstallDone | RepositoryFault;

export interface InstallReport {
  readonly repositories: readonly InstallResult[];
  /** The file that counts instead of the repositories' settings, where it exists. */
  readonly hookConf: HookConf | null;
  /** The program by which the hooks can ask most quickly. */
  readonly client: Client;
  /** The directory of the hooks that stubs run, or `none`. */
  readonly shared: SharedPlace;
  /** Why some repositories got whole hooks all the same; null where none did. */
  readonly wholeBecause: string | null;
  /** The settings that repositories got, or would where there is no hook.conf. */
  readonly settings: HookSettings;
  readonly future: FutureRepositories;
}

/** Reads the decision about a push when the daemon cannot be asked; throws `usage` for anything else. */
export function parseOnError(text: string): OnError {
  const policy = onErrors.find(each => each === text);
  if (policy !== undefined) return policy;
  throw new SoftquotaError('usage', `onError = ${text} is not known; expected allow, deny or last`);
}

/** Returns an age that the hooks take for lastFor; throws `usage` for anything else. */
export function parseLastFor(text: string): string {
  if (isLastFor(text)) return text;
  throw new SoftquotaError(
    'usage',
    `lastFor = ${text} is not known; expected 1 to 999 hours or days, such as 24h or 7d`,
  );
}

/**
 * Puts both hooks into each repository, and the socket's path where they look for it. Doing it
 * again changes nothing; an older version of ours is replaced in its place.
 *
 * A repository gets stubs that run one shared file, where nobody else may change that file and its owner can
 * read it; else whole hooks. They are no links: one that git cannot reach is passed over without a word,
 * while a stub says so, and runs the hooks after it. A fault of one repository keeps none of the others from
 * getting them.
 */
export async function installHooks(
  repositories: readonly string[],
  options: InstallOptions,
): Promise<InstallReport> {
  const hookConf = readHookConf(options.hookConf ?? hookConfPath);
  const { socket, onError, lastFor } = options;
  const client = options.client ?? (await findClient());
  const wanted: HookSettings = {
    socket,
    // By curl they ask without being told.
    client: client === 'curl' ? null : client,
    ...(onError && { onError }),
    ...(lastFor && { lastFor }),
  };
  const findHooksPath = hooksPathFinder();
  const shared = options.shared ?? packageShared();
  const choice = new StubChoice(options.shared);
  const results = await inEach(
    repositories,
    options.parts,
    async (repository, path): Promise<InstallDone> => {
      const settings = await readSettings(repository);
      const gitlab = gitlabEvidence(path, settings);
      if (gitlab !== null) throw new SoftquotaError('conflict', gitlabWords(gitlab));
      const hooks = await installInto(repository, await choice.contentsFor(repository.stats.uid));
      const asWanted =
        settings.socket === wanted.socket &&
        settings.client === wanted.client &&
        settings.onError === (wanted.onError ?? settings.onError) &&
        settings.lastFor === (wanted.lastFor ?? settings.lastFor);
      if (hookConf === null && !asWanted) await writeSettings(repository, wanted);
      return {
        repository: path,
        hooks,
        settings: hookConf !== null ? null : asWanted ? 'unchanged' : 'written',
        hooksPath: await findHooksPath(repository, settings),
      };
    },
  );
  return {
    repositories: results,
    hookConf,
    client,
    shared,
    wholeBecause: choice.wholeBecause,
    settings: wanted,
    future: futureRepositories(wanted, await choice.placeForNew()),
  };
}

/** A forge writes a hook once or twice while it makes a repository. */
const mostAttempts = 5;

/**
 * Looks at all that is there before anything of it is changed, and looks again where another program changes
 * it meanwhile. `isForge`: it is known to be a forge's.
 */
export async function installInto(
  repository: Folder,
  contents: HookContents,
  isForge = false,
): Promise<Record<HookName, InstalledHook>> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await installOnce(repository, contents, isForge);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || attempt === mostAttempts) throw error;
    }
  }
}

async function installOnce(
  repository: Folder,
  contents: HookContents,
  isForge: boolean,
): Promise<Record<HookName, InstalledHook>> {
  const hooks = await folderIn(repository, 'hooks');
  try {
    if (!isGogs(hooks)) return (await linkedIn(hooks)) ?? (await installIn(hooks, contents, isForge));
  } finally {
    await hooks.close();
  }
  const custom = await folderIn(repository, customFolder);
  try {
    return await installIn(custom, contents);
  } finally {
    await custom.close();
  }
}

async function folderIn(repository: Folder, name: string): Promise<Folder> {
  const { uid, gid } = repository.stats;
  const mode = repository.stats.mode & 0o7777;
  return (await repository.directory(name)) ?? (await repository.makeDirectory(name, { mode, uid, gid }));
}

/** The hooks that are there already where links lead to this version's; null where not both do. */
async function linkedIn(hooks: Folder): Promise<Record<HookName, InstalledHook> | null> {
  const found: InstalledHook[] = [];
  for (const name of hookNames) {
    if (hooks.entry(name).kind !== 'link') return null;
    const state = await stateThrough(hooks, name);
    if (state.state !== 'installed' || !state.current) return null;
    const previous = state.previous ? `hooks/${name}.d/${previousFile}` : null;
    found.push({ did: 'unchanged', file: state.file, previous, skipped: state.skipped });
  }
  const [pre, post] = found;
  return pre === undefined || post === undefined ? null : { 'pre-receive': pre, 'post-receive': post };
}

/** Puts both hooks into a folder of hooks, a repository's or one that is linked into repositories. */
export async function installIn(
  hooks: Folder,
  contents: HookContents,
  isForge = false,
): Promise<Record<HookName, InstalledHook>> {
  const places: HookPlace[] = [];
  try {
    for (const name of hookNames) {
      const place = await inspectPlace(hooks, name, isForge);
      places.push(place);
      mustHaveRoomForPrevious(hooks, place);
    }
    const [pre, post] = places;
    if (pre === undefined || post === undefined) throw new Error('a hook has no place');
    return {
      'pre-receive': await installAt(hooks, pre, contents),
      'post-receive': await installAt(hooks, post, contents),
    };
  } finally {
    await Promise.all(places.map(place => place.folder?.close()));
  }
}

/** Tells whether what is at hooks/NAME has to make room for ours. */
export function givesWay({ name, main, delegates }: HookPlace): boolean {
  return main.kind === 'file' && !delegates && !isOurEntry(name, main);
}

function mustHaveRoomForPrevious(hooks: Folder, place: HookPlace): void {
  const { name, main, previous } = place;
  if (!givesWay(place) || main.kind !== 'file') return;
  if (!main.whole) {
    throw new SoftquotaError(
      'conflict',
      `${hooks.path}/${name} is larger than 1 MiB: move it to ${name}.d/${previousFile}, where it keeps running, and run this again`,
    );
  }
  if (previous.kind !== 'file') return;
  // A first attempt that was cut off left the same hook under both names.
  if (previous.whole && previous.bytes.equals(main.bytes)) return;
  throw new SoftquotaError(
    'conflict',
    `${hooks.path}/${name} and ${name}.d/${previousFile} are two different hooks, but only one can have this name: ` +
      `rename the hook in ${name}.d, so that it also keeps running, or remove it`,
  );
}

async function installAt(hooks: Folder, place: HookPlace, contents: HookContents): Promise<InstalledHook> {
  const { name, below, main, delegates, inFolder, previous } = place;
  const belonging = ownedLike(hooks);
  const content = contents.bytes(name);
  const isWanted = (entry: BoundedFile): boolean =>
    isInPlace(content, entry) || (contents.keepsStubs && isRunningStub(name, entry));
  const inForge = place.isForge ? await installInFolder(hooks, place, content, isWanted(inFolder)) : null;
  if (inForge !== null && delegates) return inForge;
  const file = `${below}/${name}`;
  const keepsPrevious = previous.kind === 'file' || givesWay(place);
  const kept = keepsPrevious ? `${below}/${name}.d/${previousFile}` : null;
  const skipped = isSkipped(givesWay(place) ? main : previous);
  const unchanged = isWanted(main);
  if (main.kind === 'file' && givesWay(place)) {
    await keepPrevious(hooks, place, main);
  }
  if (!unchanged) await hooks.writeOver(main, name, content, belonging);
  // Left from a time when another hook ran the folder.
  if (inForge === null && isOurEntry(name, inFolder)) await place.folder?.remove(folderFile);
  const did = unchanged ? 'unchanged' : isOurEntry(name, main) ? 'updated' : 'installed';
  if (inForge !== null) return { ...inForge, did: unchanged ? inForge.did : did, previous: kept, skipped };
  return { did, file, previous: kept, skipped };
}

/** Puts ours where the hook of a forge runs it, which never removes it. */
async function installInFolder(
  hooks: Folder,
  { name, below, inFolder }: HookPlace,
  content: Buffer,
  isThere: boolean,
): Promise<InstalledHook> {
  const file = `${below}/${name}.d/${folderFile}`;
  if (isThere) return { did: 'unchanged', file, previous: null, skipped: false };
  const folder = await hooksFolder(hooks, name);
  try {
    await folder.write(folderFile, content, ownedLike(hooks));
  } finally {
    await folder.close();
  }
  const did = isOurEntry(name, inFolder) ? 'updated' : 'installed';
  return { did, file, previous: null, skipped: false };
}

/** Tells whether it is a stub of this version, and runs this version's hook. */
function isRunningStub(name: HookName, entry: BoundedFile): boolean {
  return entry.kind === 'file' && isCurrentStub(name, entry.bytes) && isCurrent(name, entry);
}

/**
 * The old hook stands under both names until ours takes the first over, so that at no moment it does not run.
 */
async function keepPrevious(
  hooks: Folder,
  place: HookPlace,
  main: HookPlace['main'] & { kind: 'file' },
): Promise<void> {
  const { uid, gid, mode } = main.stats;
  const folder = await hooksFolder(hooks, place.name);
  try {
    await folder.write(previousFile, main.bytes, { uid, gid, mode: mode & 0o7777 });
  } finally {
    await folder.close();
  }
}

/** The folder NAME.d, made where it is not there. */
async function hooksFolder(hooks: Folder, name: HookName): Promise<Folder> {
  const made = { ...ownedLike(hooks), mode: hooks.stats.mode & 0o7777 };
  return (await hooks.directory(`${name}.d`)) ?? (await hooks.makeDirectory(`${name}.d`, made));
}

/** Whoever may search the directory may run the hook, and nobody but its owner write it. */
function ownedLike(hooks: Folder) {
  const { mode, uid, gid } = hooks.stats;
  return { mode: 0o700 | (mode & 0o010 ? 0o050 : 0) | (mode & 0o001 ? 0o005 : 0), uid, gid };
}
