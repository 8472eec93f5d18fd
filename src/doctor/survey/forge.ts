/**
 * Recognises Gitea, Forgejo and Gogs: repositories as OWNER/REPOSITORY.git, wikis as
 * OWNER/REPOSITORY.wiki.git, and stores of files named after their content or a number, whose owners only the
 * forge's database knows.
 *
 * The evidence is an app.ini that names this directory, else the names of directories, else hooks. Only the
 * paths of data are taken from the app.ini. A value with a reference, `%(NAME)s`, counts as missing.
 */

import { basename, dirname, join, resolve } from 'node:path';
import { SoftquotaError } from '../../errors.ts';
import { type ForgeKind, readIniText } from '../../forge/index.ts';
import type { Subject } from '../../quota/index.ts';
import { fileText, isClosed, isDirectory, liesIn, withAbove } from '../paths.ts';
import { byDirectory, type ForgeFound, type Recognised, type StorePlace, section } from './plain.ts';

type ForgeConfigFound = Pick<ForgeFound, 'configFile' | 'passedOver'>;

/** Recognises a forge by its app.ini, or by the names of its directories. */
export function forge(given: string): Recognised | null {
  const files = iniFiles(given);
  const closed = files.find(isClosed);
  const passedOver = closed === undefined ? null : ({ file: closed, why: 'closed' } as const);
  return byIni(given, files) ?? byNames(given, { configFile: null, passedOver });
}

/** Recognises a forge by the named app.ini. Throws `usage` or `not_permitted` if that cannot be used. */
export function forgeConfiguredBy(given: string, file: string): Recognised {
  if (isClosed(file))
    throw new SoftquotaError('not_permitted', `no permission to read ${file}; run this as root`);
  const text = fileText(file, { follow: true });
  if (text === null) throw new SoftquotaError('usage', `${file} is not a file of up to 1 MiB`);
  const found = byIni(given, [file]) ?? byNames(given, { configFile: file, passedOver: null });
  if (found !== null) return found;
  const { product, repositories } = readForgeIni(text, file);
  throw new SoftquotaError(
    'usage',
    `${file} says that ${productNames[product]} keeps its repositories in ${repositories.join(' or ')}, which is not in ${given}`,
  );
}

/** Recognises a forge by the hooks in the first few of its repositories. */
export function forgeByHooks(given: string, repositories: readonly string[]): Recognised | null {
  for (const repository of repositories.slice(0, 20)) {
    const hook = join(repository, 'hooks/pre-receive.d/gitea');
    const text = fileText(hook);
    const config = /\bhook --config=(?:'([^']+)'|(\S+))/.exec(text ?? '');
    if (config === null) continue;
    const evidence = `${hook} is a hook of the forge`;
    const file = config[1] ?? config[2] ?? '';
    // The repository's owner may have written this hook. So only a file named .ini is opened, and root never
    // asks the database that it names.
    const passedOver = { file, why: 'named-by-hook' } as const;
    const found = file.endsWith('.ini') ? byIni(given, [file]) : null;
    if (found?.forge !== undefined) {
      const about = { ...found.forge, configFile: null, passedOver };
      return { ...found, evidence: [evidence, ...found.evidence], forge: about };
    }
    // The directory two levels above the repository, as a path below the given one if possible.
    const root = dirname(dirname(repository));
    const named = [given, ...subfolders.map(name => join(given, name))].find(
      place => liesIn(place, root) && liesIn(root, place),
    );
    const product = productIn([config[0], text]);
    return forgeAt(product, named ?? root, [evidence], null, { configFile: null, passedOver });
  }
  return null;
}

const repositoryNames = ['gitea-repositories', 'forgejo-repositories', 'gogs-repositories'];

const subfolders = [
  ...repositoryNames,
  ...repositoryNames.map(name => `data/${name}`),
  ...repositoryNames.map(name => `git/${name}`),
  'git/repositories',
  'repositories',
];

function byIni(given: string, files: readonly string[]): Recognised | null {
  for (const file of files) {
    const text = fileText(file, { follow: true });
    if (text === null || !isForges(file, text)) continue;
    const { product, repositories, stores, remote } = readForgeIni(text, file);
    const root = repositories.find(
      place => isDirectory(place) && (liesIn(place, given) || liesIn(given, place)),
    );
    if (root === undefined) continue;
    const evidence = [
      `${file} says where ${productNames[product]} keeps its data`,
      ...(remote.length === 0 ? [] : [`${remote.join(', ')}: kept in an object store, not on this disk`]),
    ];
    return forgeAt(product, root, evidence, stores, { configFile: file, passedOver: null });
  }
  return null;
}

/** The usual paths of an app.ini: beside and above the data, and where packages put it. */
function iniFiles(given: string): string[] {
  const names = ['custom/conf/app.ini', 'conf/app.ini', 'gitea/conf/app.ini', 'gogs/conf/app.ini', 'app.ini'];
  return [
    ...withAbove(given).flatMap(place => names.map(name => join(place, name))),
    ...['forgejo', 'gitea', 'gogs'].flatMap(name => [`/etc/${name}/app.ini`, `/etc/${name}/conf/app.ini`]),
  ];
}

/** Softquota's own file is named app.ini, too; it has no section of a database. */
function isForges(file: string, text: string): boolean {
  return basename(dirname(file)) === 'conf' || /^[ \t]*\[(?:database|repository)\]/m.test(text);
}

function byNames(given: string, about: ForgeConfigFound): Recognised | null {
  const isNamed = (place: string) => repositoryNames.includes(basename(place));
  const root = [given, ...subfolders.map(name => join(given, name))].find(
    place => isNamed(place) && isDirectory(place),
  );
  if (root === undefined) return null;
  const product = productIn([basename(root)]);
  return forgeAt(product, root, [`${root} is named as ${productNames[product]} names it`], null, about);
}

/** `stores`: those in the app.ini; null: the usual names are tried. */
function forgeAt(
  product: ForgeProduct,
  root: string,
  evidence: readonly string[],
  stores: readonly StorePlace[] | null,
  about: ForgeConfigFound,
): Recognised {
  const known = stores ?? storesBeside(product, root);
  return {
    layout: product,
    root,
    evidence,
    proposals: [
      byDirectory([
        section('repos', [`${root}/{owner}/{repo}.git`]),
        section('wiki', [`${root}/{owner}/{repo}.wiki.git`]),
      ]),
    ],
    fallback: null,
    stores: known.filter(({ path }) => isDirectory(path)),
    forge: {
      kind: product,
      ...about,
      databases: homesBeside(root).flatMap(home => databases.map(name => join(home, name))),
    },
  };
}

function storesBeside(product: ForgeProduct, root: string): StorePlace[] {
  const homes = homesBeside(root);
  return storesOf(product).flatMap(([what, name, , subject]) => {
    const path = homes.map(home => join(home, name)).find(isDirectory);
    return path === undefined ? [] : [{ what, path, subject }];
  });
}

/** Directories of a forge's data: beside the repositories, or in `gitea` or `gogs/data` of a container. */
function homesBeside(root: string): readonly string[] {
  const volume = dirname(dirname(root));
  return [dirname(root), join(volume, 'gitea'), join(volume, 'gogs/data')];
}

const databases = ['gitea.db', 'forgejo.db', 'gogs.db'];

type ForgeProduct = Exclude<ForgeKind, 'gitlab'>;

const productNames: Readonly<Record<ForgeProduct, string>> = {
  gitea: 'Gitea',
  forgejo: 'Forgejo',
  gogs: 'Gogs',
};

/** A store: its name for people, its name below APP_DATA_PATH, and the section that may change that. */
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

function storesOf(product: ForgeProduct): readonly StoreKind[] {
  return product === 'gogs' ? gogsStores : forgeStores;
}

/**
 * Returns the paths of the repositories, the likeliest first, the paths of the stores, and the stores that
 * are in an object store, not on this disk. `file`: the path of the app.ini, which gives the working
 * directory if the text does not.
 */
function readForgeIni(text: string, file: string) {
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
    // Gogs resolves written paths from its working directory.
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
function productIn(texts: readonly (string | null)[]): ForgeProduct {
  const text = texts.join(' ');
  return /forgejo/i.test(text) ? 'forgejo' : /gogs/i.test(text) && !/gitea/i.test(text) ? 'gogs' : 'gitea';
}

/** Maps a container's paths to this host: `/data/gitea` may be `/srv/forge/gitea` here, where the file is. */
function mapped(file: string, data: string): (path: string) => string {
  const home = dirname(dirname(file));
  const isInside =
    basename(dirname(file)) === 'conf' && basename(home) === basename(data) && !isDirectory(data);
  const from = `${dirname(data)}/`;
  return path => (isInside && path.startsWith(from) ? `${dirname(home)}/${path.slice(from.length)}` : path);
}

/**
 * The working directory of `WORK/custom/conf/app.ini`, or of `gogs/conf/app.ini` in a container of Gogs; of
 * other files, the directory that packages use.
 */
function workPathOf(file: string, product: string): string {
  const conf = product === 'gogs' ? /^(.*\/gogs)\/conf\/[^/]+$/ : null;
  return (/^(.*)\/custom\/conf\/[^/]+$/.exec(file) ?? conf?.exec(file) ?? null)?.[1] ?? `/var/lib/${product}`;
}
