/**
 * Gitea and Forgejo: repositories as OWNER/REPOSITORY.git, wikis as OWNER/REPOSITORY.wiki.git, and stores of
 * files named after their content or a number, which only the forge's database knows the owners of.
 *
 * Recognised by the forge's app.ini where one leads here, else by the names of its directories, else by its
 * hooks.
 */

import { basename, dirname, join } from 'node:path';
import { fileText, isDirectory, liesIn } from './directories.ts';
import { forgeStores, isForgejo, readForgeIni, repositoryNames } from './forge-ini.ts';
import { type Recognised, type StorePlace, section } from './recognised.ts';

type Product = 'gitea' | 'forgejo';

/** By its app.ini or the names of its directories. */
export function forge(given: string): Recognised | null {
  return byIni(given, iniFiles(given)) ?? byNames(given);
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
    // Whoever owns the repository may have written this, and is not to choose what root opens.
    const found = file.endsWith('.ini') ? byIni(given, [file]) : null;
    if (found !== null) return { ...found, evidence: [evidence, ...found.evidence] };
    // Two above the repository, in the words of the one who asked.
    const root = dirname(dirname(repository));
    const named = [given, ...subfolders.map(name => join(given, name))].find(
      place => liesIn(place, root) && liesIn(root, place),
    );
    return forgeAt(isForgejo([config[0], text]) ? 'forgejo' : 'gitea', named ?? root, [evidence], null);
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
    if (text === null) continue;
    const { product, repositories, stores, remote } = readForgeIni(text, file);
    const root = repositories.find(
      place => isDirectory(place) && (liesIn(place, given) || liesIn(given, place)),
    );
    if (root === undefined) continue;
    const evidence = [
      `${file} says where ${words[product]} keeps its data`,
      ...(remote.length === 0 ? [] : [`${remote.join(', ')}: kept in an object store, not on this disk`]),
    ];
    return forgeAt(product, root, evidence, stores);
  }
  return null;
}

const words: Readonly<Record<Product, string>> = { gitea: 'Gitea', forgejo: 'Forgejo' };

/** Beside and above the data, and where packages put it. */
function iniFiles(given: string): string[] {
  const above = [given, dirname(given), dirname(dirname(given)), dirname(dirname(dirname(given)))];
  return [
    ...[...new Set(above)].flatMap(place => [
      join(place, 'custom/conf/app.ini'),
      join(place, 'conf/app.ini'),
      join(place, 'gitea/conf/app.ini'),
    ]),
    ...['forgejo', 'gitea'].flatMap(name => [`/etc/${name}/app.ini`, `/etc/${name}/conf/app.ini`]),
  ];
}

function byNames(given: string): Recognised | null {
  const isNamed = (place: string) => repositoryNames.includes(basename(place));
  const root = [given, ...subfolders.map(name => join(given, name))].find(
    place => isNamed(place) && isDirectory(place),
  );
  if (root === undefined) return null;
  const product = isForgejo([root]) ? 'forgejo' : 'gitea';
  return forgeAt(product, root, [`${root} is named as ${words[product]} names it`], null);
}

/** `stores`: as its app.ini says; null where that is not known, and the usual names are looked for. */
function forgeAt(
  product: Product,
  root: string,
  evidence: readonly string[],
  stores: readonly StorePlace[] | null,
): Recognised {
  const known = stores ?? storesBeside(root);
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
        told: 'lie in a directory named after their owner',
        advice: [],
      },
    ],
    fallback: null,
    stores: known.filter(({ path }) => isDirectory(path)),
  };
}

/** Beside the repositories, or, in the folder of a container, in `gitea` beside `git`. */
function storesBeside(root: string): StorePlace[] {
  const homes = [dirname(root), join(dirname(dirname(root)), 'gitea')];
  return forgeStores.flatMap(({ what, name, subject }) => {
    const place = homes.map(home => join(home, name)).find(isDirectory);
    return place === undefined ? [] : [{ what, path: place, subject }];
  });
}
