/** Storage sections of a daemon beside a forge, whose database has the bytes of all other stores. */

import type { Ini } from '../e2e/server.ts';

const noStores: Ini = { 'storage.lfs': { PATH: null }, 'storage.attachments.issues': { PATH: null } };

/** The repositories of a Gitea, a Forgejo or a Gogs, in directories of their owners. */
export function namedStorages(root: string): Ini {
  return {
    ...noStores,
    'storage.repos': { PATH: `${root}/{owner}/{repo}.git` },
    'storage.wiki': { PATH: `${root}/{owner}/{repo}.wiki.git` },
  };
}

/** The repositories of a GitLab, on the storage of a Gitaly. */
export function hashedStorages(root: string): Ini {
  const repositories = ['@hashed', '@snippets', '@pools'].map(kind => `${root}/${kind}/*/*/{repo}.git`);
  return {
    ...noStores,
    'storage.repos': { PATH: repositories.join(', '), OWNER: 'forge' },
    'storage.wiki': { PATH: `${root}/@hashed/*/*/{repo}.wiki.git`, OWNER: 'forge' },
  };
}

/** The replicas of a Gitaly Cluster. */
export function replicaStorages(root: string): Ini {
  const replicas = ['repositories', 'pools'].map(kind => `${root}/@cluster/${kind}/*/*/{repo}`);
  return {
    ...noStores,
    'storage.repos': { PATH: replicas.join(', '), OWNER: 'forge' },
    'storage.wiki': { PATH: null },
  };
}
