/** Examines a directory, or the usual ones, and proposes storage settings for it. */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Accounts, systemAccounts } from '../../accounts.ts';
import { sections } from '../../config/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { findRepositories, type UnreadPlace } from '../../git/index.ts';
import { beforeFollow, inspect, resolveLayout, saysHangs } from '../../layout/index.ts';
import { nameFault } from '../../quota/index.ts';
import { counted, formatCount } from '../../text.ts';
import { hangs, isDirectory, physical } from '../paths.ts';
import { groupWriters } from '../rights.ts';
import { type Billing, billing, type Sized, shareOf, sizeOf } from './billing.ts';
import { forge, forgeByHooks, forgeConfiguredBy } from './forge.ts';
import { gitlab } from './gitlab.ts';
import {
  type ForgeFound,
  gitolite,
  type Proposal,
  plain,
  type Recognised,
  type StorePlace,
} from './plain.ts';

/** A store whose owners no walk can find. */
type FoundStore = StorePlace & Sized;

/** The recognised server with the best of its proposals; `evidence` also says how owners are found. */
export interface Survey
  extends Pick<Recognised, 'layout' | 'root' | 'evidence'>,
    Pick<Proposal, 'storages' | 'advice'> {
  /** The owners for whom the parts of `root` count. */
  readonly billing: Billing;
  /** Number of repositories, wikis among them. */
  readonly repositories: number;
  /** The repositories that have no owner by these settings. */
  readonly ownerless: readonly string[];
  readonly stores: readonly FoundStore[];
  /** Directories that could not be read, and why. */
  readonly unread: readonly UnreadPlace[];
  /** The user and the group that the git server probably runs as: those of a repository. */
  readonly uid: number;
  readonly gid: number;
  /** The names of the users who may write repositories as members of their group. */
  readonly writers: readonly string[];
  /** The forge that the data belongs to; null: none. */
  readonly forge: ForgeFound | null;
}

interface SurveyOptions {
  readonly accounts?: Accounts;
  /** Milliseconds that adding up stores without owners may take. */
  readonly storesMs?: number;
  /** The forge's own configuration file, absolute; null: the usual paths are tried. */
  readonly forgeConfig?: string | null;
  /** True if the forge's database cannot name owners. */
  readonly isForgeAway?: boolean;
}

/** Time limit, since a store may have millions of files, and its size only informs. */
const storesMs = 10_000;

/**
 * Surveys an absolute path. Throws `usage` if no template can name it, if it is no directory of repositories,
 * or if `forgeConfig` is of another forge; `not_found` if it contains no repository; `not_permitted` if it
 * may not be read; `not_ready` if its disk does not answer.
 */
export async function survey(given: string, options: SurveyOptions = {}): Promise<Survey> {
  const ids = idsOf(given);
  const owner = ownerFor(ids.uid, options.accounts ?? systemAccounts());
  const { forgeConfig = null, isForgeAway = false } = options;
  const hashed = gitlab(given, owner, forgeConfig, isForgeAway);
  const marked =
    forgeConfig === null
      ? (hashed ?? gitolite(given, owner) ?? forge(given))
      : (hashed ?? forgeConfiguredBy(given, forgeConfig));
  const place = marked?.root ?? given;
  const { repositories: all, unread } = await findRepositories([place]);
  const base = physical(place);
  if (all.includes(base)) {
    throw new SoftquotaError('usage', `${place} is itself a repository; name the directory that contains it`);
  }
  const found = all.filter(path => {
    const names = path.slice(base.length).split('/');
    return !names.some(name => excluded.includes(name));
  });
  if (found.length === 0 && marked === null) throw nothingIn(given, unread);
  const recognised = marked ?? forgeByHooks(given, found) ?? plain(given, base, found, owner);
  refuseUnsayable(recognised.root);
  const stores = recognised.stores.map(({ path }) => `${physical(path)}/`);
  const repositories = found.filter(path => !stores.some(store => path.startsWith(store)));
  const { proposal, ownerless } = choose(recognised, repositories);
  const owned = repositories.length - ownerless.length;
  const follow = linkedDirectories(proposal.storages);
  const isLinked = follow.length > 0;
  const storages = isLinked ? proposal.storages.map(each => ({ ...each, follow })) : proposal.storages;
  const deadline = performance.now() + (options.storesMs ?? storesMs);
  const apart = recognised.stores.map(({ path }) => physical(path));
  return {
    layout: recognised.layout,
    root: recognised.root,
    evidence: [
      ...recognised.evidence,
      ...(isLinked ? [`symbolic links lead to directories in ${follow.join(', ')}`] : []),
      owners(proposal, owned, repositories.length),
    ],
    storages,
    advice: proposal.advice,
    repositories: repositories.length,
    ownerless,
    stores: recognised.stores.map((store, index) => ({
      ...store,
      ...sizeOf(store.path, shareOf(deadline, recognised.stores.length + 1 - index)),
    })),
    billing: billing(physical(recognised.root), storages, { ownerless, apart }, excluded, deadline),
    unread,
    ...(repositories[0] === undefined ? ids : idsOf(repositories[0])),
    writers: groupWriters(repositories, options.accounts).map(({ name }) => name),
    forge: recognised.forge ?? null,
  };
}

/** The default of [scan] EXCLUDE. */
const excluded =
  sections
    .find(({ name }) => name === 'scan')
    ?.keys.find(({ name }) => name === 'EXCLUDE')
    ?.text.split(', ') ?? [];

function idsOf(path: string): { readonly uid: number; readonly gid: number } {
  try {
    beforeFollow(path);
    const about = statSync(path);
    if (about.isDirectory()) return { uid: about.uid, gid: about.gid };
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EACCES' || code === 'EPERM') throw notPermitted(path);
    if (saysHangs(error)) throw hung(path);
    if (code === null) throw error;
  }
  throw new SoftquotaError('usage', `${path} is not a directory`);
}

/** The owner of everything if nothing names owners: the account that the repositories belong to. */
function ownerFor(uid: number, accounts: Accounts): string {
  const name = accounts.users.find(account => account.uid === uid)?.name ?? 'git';
  return uid === 0 || nameFault(name) !== null ? 'git' : name;
}

function owners({ ownersFrom }: Proposal, owned: number, all: number): string {
  return `owner taken from ${ownersFrom} for ${formatCount(owned)} of ${counted(all, 'repository', 'repositories')}`;
}

function nothingIn(path: string, unread: Survey['unread']): SoftquotaError {
  const here = unread.find(place => place.path === physical(path));
  if (here !== undefined) return here.hangs ? hung(path) : notPermitted(path);
  const shut =
    unread.length === 0
      ? ''
      : `, and ${counted(unread.length, 'directory', 'directories')} could not be read, such as ${unread[0]?.path}`;
  return new SoftquotaError('not_found', `no bare repository (HEAD, objects, refs) is below ${path}${shut}`);
}

function hung(path: string): SoftquotaError {
  return new SoftquotaError('not_ready', `${path} cannot be read: its disk does not answer`);
}

function notPermitted(path: string): SoftquotaError {
  const message = `no permission to read ${path}; run this as root, or as the git server's user`;
  return new SoftquotaError('not_permitted', message);
}

/** Refuses paths that templates cannot express: commas separate templates, braces and stars are special. */
function refuseUnsayable(root: string): void {
  const character = /[,{}*\p{Cs}]/u.exec(root)?.[0];
  if (character === undefined && root !== '/') return;
  const what = root === '/' ? 'does not begin at /' : `cannot have the "${character}"`;
  const message = `A storage template ${what} of ${root}. Make a link to it with a plain name, and name that.`;
  throw new SoftquotaError('usage', message);
}

/** Chooses the proposal that finds the most owners; the fallback if it finds less than half of them. */
function choose({ proposals, fallback, own = [] }: Recognised, repositories: readonly string[]) {
  const telling = repositories.filter(path => !own.includes(path));
  const tried = proposals.map(proposal => ({ proposal, silent: ownerlessBy(proposal, telling).length }));
  const best = tried.reduce((a, b) => (b.silent < a.silent ? b : a));
  const tellsMost = fallback === null || best.silent * 2 <= telling.length;
  const proposal = tellsMost ? best.proposal : fallback;
  return { proposal, ownerless: ownerlessBy(proposal, repositories) };
}

function ownerlessBy({ storages }: Proposal, repositories: readonly string[]): string[] {
  const layout = resolveLayout(storages, excluded);
  return repositories.filter(path => {
    const located = inspect(layout, path);
    // A path, a file or the forge's database names the owner, unless something is wrong.
    return located.found !== 'unit' || located.unit.ownerFault !== undefined;
  });
}

/** The directories for [storage] FOLLOW, so that the links in these storages are followed. */
function linkedDirectories(storages: Proposal['storages']): readonly string[] {
  const { links } = resolveLayout(
    storages.map(each => ({ ...each, follow: ['/'] })),
    excluded,
  );
  const above = [...links.values()].map(target => dirname(target.path));
  return [...new Set(above)].filter(place => place !== '/' && !/[,\p{Cs}]|\s$/u.test(place)).sort();
}

/** The usual directories, in the order of preference: of two with the same repositories the first counts. */
export function wellKnownPlaces(accounts: Accounts = systemAccounts()): readonly string[] {
  const homes = accounts.users.filter(({ name }) => name === 'git').map(({ home }) => home);
  return [
    '/srv/git',
    '/var/lib/gitolite3',
    '/var/lib/gitea',
    '/var/lib/forgejo',
    '/var/opt/gitlab/git-data/repositories',
    ...homes
      .filter(home => home.startsWith('/') && home !== '/')
      .flatMap(home => [`${home}/repositories`, home]),
  ];
}

/**
 * Surveys the only directory that contains repositories. Throws `usage` if none or several do, and
 * `not_ready` if the disk of one does not answer.
 */
export async function surveyPlaces(places: readonly string[]): Promise<Survey> {
  const found = new Map<string, Survey>();
  const hung = places.filter(hangs);
  for (const place of places) {
    if (!isDirectory(place)) continue;
    const surveyed = await survey(place).catch((error: unknown) => {
      if (error instanceof SoftquotaError && error.code === 'not_found') return null;
      throw error;
    });
    if (surveyed === null) continue;
    const root = physical(surveyed.root);
    if (!found.has(root)) found.set(root, surveyed);
  }
  const surveys = [...found.values()];
  const [one] = surveys;
  if (hung.length > 0) {
    const where = `it cannot be found out whether repositories are in ${hung.join(', ')}`;
    const advice = `Name their directory: softquota init ${one?.root ?? 'ROOT'}`;
    throw new SoftquotaError('not_ready', `${where}. ${advice}`);
  }
  if (one === undefined) {
    const where = `no repositories are in the usual directories (${places.join(', ')})`;
    throw new SoftquotaError('usage', `${where}. Name their directory: softquota init ROOT`);
  }
  if (surveys.length > 1) {
    const where = `repositories are in several directories: ${surveys.map(({ root }) => root).join(', ')}`;
    throw new SoftquotaError('usage', `${where}. Name one of them: softquota init ${one.root}`);
  }
  return { ...one, evidence: [`found in one of the usual directories, ${one.root}`, ...one.evidence] };
}
