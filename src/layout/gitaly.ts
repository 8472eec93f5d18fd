/** Recognizes repositories of a Gitaly by their paths. Gitaly collects their garbage itself. */

/** Returns true for the repository of a project, a wiki, a snippet or a pool. */
export function isOfGitaly(path: string): boolean {
  return /\/@(?:hashed|snippets|pools|cluster)\//.test(path);
}

/** Returns true for any repository of a Gitaly Cluster, whose path does not say of what kind it is. */
export function isOfCluster(path: string): boolean {
  return path.includes('/@cluster/');
}

/** Returns true for a pool: it holds the objects that forks share, and nobody pushes to it. */
export function isPool(path: string): boolean {
  return /\/(?:@pools|@cluster\/pools)\//.test(path);
}
