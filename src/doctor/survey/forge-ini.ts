/**
 * The app.ini of Gitea, Forgejo and Gogs, as far as it says where data lies.
 *
 * Of its values only those are looked at, and none is kept. What refers to other values, `%(NAME)s`, is taken
 * as not said.
 */

import { basename, dirname, resolve } from 'node:path';
import { type ForgeKind, readIniText } from '../../forge/index.ts';
import type { Subject } from '../../quota/index.ts';
import { isDirectory } from './directories.ts';
import type { StorePlace } from './recognised.ts';

/** The forges that have an app.ini. */
export type ForgeProduct = Exclude<ForgeKind, 'gitlab'>;

export const productNames: Readonly<Record<ForgeProduct, string>> = {
  gitea: 'Gitea',
  forgejo: 'Forgejo',
  gogs: 'Gogs',
};

/** A store: its name for people, below APP_DATA_PATH, and of the section that may say otherwise. */
type StoreKind = readonly [what: string, name: string, section: string, subject: Subject | null];

const attachments: StoreKind = ['attachments', 'attachments', 'attachment', 'size:assets:attachments:all'];

const forgeStores: readonly StoreKind[] = [
  ['LFS objects', 'lfs', 'lfs', 'size:git:lfs'],
  attachments,
  ['packages', 'packages', 'packages', 'size:assets:packages:all'],
  ['artifacts', 'actions_artifacts', 'actions.artifacts', 'size:assets:artifacts'],
  ['logs of actions', 'actions_log', 'actions', null],
];

/** Gogs has neither packages nor actions. */
const gogsStores: readonly StoreKind[] = [['LFS objects', 'lfs-objects', 'lfs', 'size:git:lfs'], attachments];

export function storesOf(product: ForgeProduct): readonly StoreKind[] {
  return product === 'gogs' ? gogsStores : forgeStores;
}

/** The default names of the directory of repositories. */
export const repositoryNames = ['gitea-repositories', 'forgejo-repositories', 'gogs-repositories'];

/**
 * Gives the paths of the repositories, the likeliest first, those of the stores, and what is kept in an
 * object store, not on this disk. `file`: where the text stands, which tells the working directory if the
 * text does not.
 */
export function readForgeIni(text: string, file: string) {
  const written = readIniText(text);
  const value = (section: string, key: string): string | null => {
    const found = written(section, key) ?? '';
    return found === '' || found.includes('%(') ? null : found;
  };
  const work = value('', 'WORK_PATH');
  const named = productIn([file, value('', 'APP_NAME'), work, value('repository', 'ROOT')]);
  // Only Gogs has BRAND_NAME, and only the others write WORK_PATH.
  const isGogs = value('', 'BRAND_NAME') !== null || (named === 'gogs' && work === null);
  const product: ForgeProduct = isGogs ? 'gogs' : named === 'gogs' ? 'gitea' : named;
  const kinds = storesOf(product);
  const home = work ?? workPathOf(file, product);
  const data = resolve(home, value('server', 'APP_DATA_PATH') ?? 'data');
  const outside = mapped(file, data);
  const root = value('repository', 'ROOT');
  const repositories =
    root === null ? repositoryNames.map(name => resolve(data, name)) : [resolve(home, root)];
  const type = (section: string): string | null => value(section, 'STORAGE_TYPE');
  const remote = kinds.filter(([, name, section]) => {
    const kind = type(section) ?? type(`storage.${name}`) ?? type('storage') ?? 'local';
    return (type(`storage.${kind}`) ?? kind) !== 'local';
  });
  const pathOf = ([, name, section]: StoreKind): string => {
    const shared = value('storage', 'PATH');
    const base = value(`storage.${name}`, 'PATH') ?? (shared === null ? name : `${shared}/${name}`);
    const older =
      section === 'lfs' ? (value('server', 'LFS_CONTENT_PATH') ?? value('lfs', 'OBJECTS_PATH')) : null;
    const said = value(section, 'PATH') ?? older;
    // Gogs counts what is written from its working directory.
    return outside(resolve(isGogs && said !== null ? home : data, said ?? base));
  };
  return {
    product,
    repositories: repositories.map(outside),
    stores: kinds
      .filter(one => !remote.includes(one))
      .map((one): StorePlace => ({ what: one[0], path: pathOf(one), subject: one[3] })),
    remote: remote.map(([what]) => what),
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
