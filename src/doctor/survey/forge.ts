/**
 * Gitea, Forgejo and Gogs: repositories as OWNER/REPOSITORY.git, wikis as OWNER/REPOSITORY.wiki.git, and
 * stores of files named after their content or a number, which only the forge's database knows the owners of.
 *
 * Recognised by the forge's app.ini where one leads here, else by the names of its directories, else by its
 * hooks.
 */

import { basename, dirname, join } from 'node:path';
import { SoftquotaError } from '../../errors.ts';
import { fileText, isClosed, isDirectory, liesIn, withAbove } from './directories.ts';
import {
  type ForgeProduct,
  productIn,
  productNames,
  readForgeIni,
  repositoryNames,
  storesOf,
} from './forge-ini.ts';
import { type ForgeFound, type Recognised, type StorePlace, section } from './recognised.ts';

type ForgeConfigFound = Pick<ForgeFound, 'configFile' | 'passedOver'>;

/** By its app.ini or the names of its directories. */
export function forge(given: string): Recognised | null {
  const files = iniFiles(given);
  const closed = files.find(isClosed);
  const passedOver = closed === undefined ? null : ({ file: closed, why: 'closed' } as const);
  return byIni(given, files) ?? byNames(given, { configFile: null, passedOver });
}

/** By the app.ini that somebody named. Throws `usage` or `not_permitted` where it cannot be the forge's. */
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

/** By the hooks in its repositories; the first few tell. */
export function forgeByHooks(given: string, repositories: readonly string[]): Recognised | null {
  for (const repository of repositories.slice(0, 20)) {
    const hook = join(repository, 'hooks/pre-receive.d/gitea');
    const text = fileText(hook);
    const config = /\bhook --config=(?:'([^']+)'|(\S+))/.exec(text ?? '');
    if (config === null) continue;
    const evidence = `${hook} is a hook of the forge`;
    const file = config[1] ?? config[2] ?? '';
    // The repository's owner may have written this, and must choose neither what root opens, nor which
    // database root asks.
    const passedOver = { file, why: 'named-by-hook' } as const;
    const found = file.endsWith('.ini') ? byIni(given, [file]) : null;
    if (found?.forge !== undefined) {
      const about = { ...found.forge, configFile: null, passedOver };
      return { ...found, evidence: [evidence, ...found.evidence], forge: about };
    }
    // Two above the repository, in the words of the one who asked.
    const root = dirname(dirname(repository));
    const named = [given, ...subfolders.map(name => join(given, name))].find(
      place => liesIn(place, root) && liesIn(root, place),
    );
    const product = productIn([config[0], text]);
    return forgeAt(product, named ?? root, [evidence], null, { configFile: null, passedOver });
  }
  return null;
}

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

/** Beside and above the data, and where packages put it. */
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

/** `stores`: as its app.ini says; null where that is not known, and the usual names are looked for. */
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
      {
        storages: [
          section('repos', [`${root}/{owner}/{repo}.git`]),
          section('wiki', [`${root}/{owner}/{repo}.wiki.git`]),
        ],
        ownersFrom: 'the directory name',
        advice: [],
      },
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

/** Beside the repositories, or, in the folder of a container, in `gitea` or `gogs/data` beside `git`. */
function homesBeside(root: string): readonly string[] {
  const volume = dirname(dirname(root));
  return [dirname(root), join(volume, 'gitea'), join(volume, 'gogs/data')];
}

const databases = ['gitea.db', 'forgejo.db', 'gogs.db'];
