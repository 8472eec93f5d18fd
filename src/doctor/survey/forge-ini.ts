/**
 * The app.ini of Gitea, Forgejo and Gogs, as far as it says where data lies.
 *
 * Of its values only those are looked at, and none is kept. What refers to other values, `%(NAME)s`, is taken
 * as not said.
 */

import { basename, dirname, resolve } from 'node:path';
import { parse } from 'ini';
import type { Subject } from '../../quota/index.ts';
import { isDirectory } from './directories.ts';
import type { StorePlace } from './recognised.ts';

export type ForgeProduct = 'gitea' | 'forgejo' | 'gogs';

interface ForgeIni {
  readonly product: ForgeProduct;
  /** Paths where the repositories may be, the likeliest first. */
  readonly repositories: readonly string[];
  readonly stores: readonly StorePlace[];
  /** Names of what is kept in an object store, not on this disk. */
  readonly remote: readonly string[];
}

/** The name below APP_DATA_PATH, and the section of its own that may say otherwise. */
const forgeStores: readonly (Omit<StorePlace, 'path'> & {
  readonly name: string;
  readonly section: string;
})[] = [
  store('LFS objects', 'lfs', 'lfs', 'size:git:lfs'),
  store('attachments', 'attachments', 'attachment', 'size:assets:attachments:all'),
  store('packages', 'packages', 'packages', 'size:assets:packages:all'),
  store('artifacts', 'actions_artifacts', 'actions.artifacts', 'size:assets:artifacts'),
  store('logs of actions', 'actions_log', 'actions', null),
];

/** Those of Gogs, which has neither packages nor actions. */
const gogsStores: typeof forgeStores = [
  store('LFS objects', 'lfs-objects', 'lfs', 'size:git:lfs'),
  store('attachments', 'attachments', 'attachment', 'size:assets:attachments:all'),
];

export function storesOf(product: ForgeProduct): typeof forgeStores {
  return product === 'gogs' ? gogsStores : forgeStores;
}

/** The default names of the directory of repositories. */
export const repositoryNames = ['gitea-repositories', 'forgejo-repositories', 'gogs-repositories'];

function store(what: string, name: string, section: string, subject: Subject | null) {
  return { what, name, section, subject };
}

/** `file`: where the text stands, from which the working directory is told where the text does not say it. */
export function readForgeIni(text: string, file: string): ForgeIni {
  const tree: unknown = parse(text);
  const value = (section: string, key: string): string | null => valueIn(tree, section, key);
  const work = value('', 'WORK_PATH');
  const named = productIn([file, value('', 'APP_NAME'), work, value('repository', 'ROOT')]);
  // Only Gogs has BRAND_NAME, and only the others write WORK_PATH.
  const isGogs = value('', 'BRAND_NAME') !== null || (named === 'gogs' && work === null);
  const product = isGogs ? 'gogs' : named === 'gogs' ? 'gitea' : named;
  const kinds = storesOf(product);
  const home = work ?? workPathOf(file, product);
  const data = resolve(home, value('server', 'APP_DATA_PATH') ?? 'data');
  const outside = mapped(file, data);
  const root = value('repository', 'ROOT');
  const repositories =
    root === null ? repositoryNames.map(name => resolve(data, name)) : [resolve(home, root)];
  const type = (section: string): string | null => value(section, 'STORAGE_TYPE');
  const remote = kinds.filter(({ name, section }) => {
    const kind = type(section) ?? type(`storage.${name}`) ?? type('storage') ?? 'local';
    return (type(`storage.${kind}`) ?? kind) !== 'local';
  });
  const pathOf = ({ name, section }: (typeof forgeStores)[number]): string => {
    const shared = value('storage', 'PATH');
    const base = value(`storage.${name}`, 'PATH') ?? (shared === null ? name : `${shared}/${name}`);
    const older =
      section === 'lfs' ? (value('server', 'LFS_CONTENT_PATH') ?? value('lfs', 'OBJECTS_PATH')) : null;
    const written = value(section, 'PATH') ?? older;
    // Gogs counts what is written from its working directory.
    const from = isGogs && written !== null ? home : data;
    return outside(resolve(from, written ?? base));
  };
  return {
    product,
    repositories: repositories.map(outside),
    stores: kinds
      .filter(one => !remote.includes(one))
      .map(one => ({ what: one.what, subject: one.subject, path: pathOf(one) })),
    remote: remote.map(({ what }) => what),
  };
}

/** The product whose name is in one of these texts; Gitea, if there is none. */
export function productIn(texts: readonly (string | null)[]): ForgeProduct {
  const text = texts.join(' ');
  return /forgejo/i.test(text) ? 'forgejo' : /gogs/i.test(text) && !/gitea/i.test(text) ? 'gogs' : 'gitea';
}

/**
 * A container's file names the paths inside: `/data/gitea` may be `/srv/forge/gitea` out here, where the file
 * is.
 */
function mapped(file: string, data: string): (path: string) => string {
  const home = dirname(dirname(file));
  const isInside =
    basename(dirname(file)) === 'conf' && basename(home) === basename(data) && !isDirectory(data);
  const from = `${dirname(data)}/`;
  return path => (isInside && path.startsWith(from) ? `${dirname(home)}/${path.slice(from.length)}` : path);
}

/**
 * `WORK/custom/conf/app.ini`, and of the container of Gogs `gogs/conf/app.ini`; of a file elsewhere, the
 * directory that packages use.
 */
function workPathOf(file: string, product: string): string {
  const conf = product === 'gogs' ? /^(.*\/gogs)\/conf\/[^/]+$/ : null;
  return (/^(.*)\/custom\/conf\/[^/]+$/.exec(file) ?? conf?.exec(file) ?? null)?.[1] ?? `/var/lib/${product}`;
}

function valueIn(tree: unknown, section: string, key: string): string | null {
  let at = tree;
  for (const step of section === '' ? [] : section.split('.')) at = fieldOf(at, step);
  const value = fieldOf(at, key);
  if (typeof value !== 'string' || value.includes('%(')) return null;
  const text = value.replace(/^`(.*)`$/, '$1').trim();
  return text === '' ? null : text;
}

function fieldOf(tree: unknown, name: string): unknown {
  if (typeof tree !== 'object' || tree === null) return undefined;
  return Object.entries(tree).find(([key]) => key === name)?.[1];
}
