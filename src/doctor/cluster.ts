/** Replicas of a Gitaly Cluster that no PATH leads to, or whose owners nobody can tell. */

import { makeFinding } from '../health/index.ts';
import { isWithin } from '../layout/index.ts';
import { printable } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import { type CheckResult, type Installation, setKey } from './installation.ts';
import { isDirectory } from './paths.ts';
import type { Repositories } from './repositories.ts';

export function checkCluster(
  installation: Installation,
  { roots }: Pick<Repositories, 'roots'>,
): CheckResult {
  const { forge, storages } = installation.loaded.config;
  const paths = roots.map(({ path }) => path);
  const trees = new Set(paths.flatMap(treesBeside));
  const isCovered = (tree: string) => paths.some(path => isWithin(path, tree) || isWithin(tree, path));
  const templates = storages.find(({ kind }) => kind === 'repos')?.templates ?? [];
  const asksForge = storages.some(({ kind, owner }) => kind === 'repos' && owner.by === 'forge');
  const findings = [...trees].flatMap((tree): Finding[] => {
    const what = `${printable(tree)}: replicas of a Gitaly Cluster`;
    if (!isCovered(tree)) {
      const value = [...templates, `${tree}/*/*/{repo}`].join(', ');
      const mend = setKey(installation, 'storage.repos', 'PATH', value, 'reload');
      return [
        makeFinding('unmanaged_repository', `${what} that no PATH matches, so they do not count`, mend),
      ];
    }
    if (!asksForge || forge === null || forge.praefect !== null) return [];
    const mend =
      'set [forge] PRAEFECT and PRAEFECT_STORAGE, as docs/forges/gitlab.md says; then restart the daemon';
    return [makeFinding('forge_unowned', `${what}, which count for nobody without [forge] PRAEFECT`, mend)];
  });
  return { findings };
}

/** The directories of replicas on the storage of a Gitaly in which a root lies. */
function treesBeside(root: string): readonly string[] {
  const storage = /^(.*)\/@(?:hashed|snippets|pools|cluster)(?:\/|$)/.exec(root)?.[1];
  if (storage === undefined) return [];
  return ['repositories', 'pools'].map(name => `${storage}/@cluster/${name}`).filter(isDirectory);
}
