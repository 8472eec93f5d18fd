/** Repositories that a Gitaly keeps, known by their paths: it collects their garbage itself. */

/** A repository of a project, a wiki, a snippet or a pool. */
export function isOfGitaly(path: string): boolean {
  return /\/@(?:hashed|snippets|pools|cluster)\//.test(path);
}

/** A repository of a Gitaly Cluster: a project, a wiki, a snippet or a pool, which its path does not say. */
export function isOfCluster(path: string): boolean {
  return path.includes('/@cluster/');
}

/** A pool has what forks share: nobody pushes to it. */
export function isPool(path: string): boolean {
  return /\/(?:@pools|@cluster\/pools)\//.test(path);
}
