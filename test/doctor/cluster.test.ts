/** Replicas of a Gitaly Cluster that count for nobody. */

import { join } from 'node:path';
import t from 'tap';
import { checkCluster, lookForRepositories } from '../../src/doctor/repositories.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { findingsOf, installationIn } from './folder.ts';
import { repository } from './survey/world.ts';

t.test('replicas that no PATH matches, or that no PRAEFECT attributes, are named', async t => {
  const folder = temporaryFolder(t);
  const found = (paths: string, forge = '', owner = 'OWNER = forge\n') => {
    const ini = `[storage.repos]\nPATH = ${paths}\n${owner}[forge]\nKIND = gitlab\nDATABASE = postgres://a:b@c/d\n${forge}`;
    const installation = installationIn(folder, ini);
    const found = lookForRepositories(installation.loaded.config);
    return findingsOf(report => checkCluster(report, installation, found));
  };
  const at = (name: string) => join(folder, name);
  const hashed = `${at('@hashed')}/*/*/{repo}.git`;
  const replicas = `${at('@cluster/repositories')}/*/*/{repo}`;
  const both = `${hashed}, ${replicas}`;
  repository(at('@hashed/aa/bb/aabb.git'));
  t.strictSame(found(hashed), []);
  repository(at('@cluster/repositories/aa/bb/71'));
  const [uncovered] = found(hashed);
  t.ok(uncovered?.mend.includes(` set [storage.repos] PATH = ${both}; then `));
  t.match(found(hashed), [
    {
      code: 'unmanaged_repository',
      message: `${at('@cluster/repositories')}: replicas of a Gitaly Cluster that no PATH matches, so they do not count`,
    },
  ]);
  t.match(found(both), [
    {
      code: 'forge_unowned',
      message: /@cluster\/repositories: replicas .* count for nobody without \[forge\] PRAEFECT$/,
      mend: /PRAEFECT_STORAGE/,
    },
  ]);
  t.strictSame(found(both, '', 'OWNER = fixed git\n'), []);
  const praefect = 'PRAEFECT = postgres://a:b@c/e\nPRAEFECT_STORAGE = gitaly-1\n';
  t.strictSame(found(both, praefect), []);
  repository(at('@cluster/pools/aa/bb/72'));
  t.match(found(both, praefect), [{ code: 'unmanaged_repository', message: /^\S+\/@cluster\/pools: / }]);
  t.strictSame(found(`${at('@cluster')}/*/*/*/{repo}`, praefect), []);
});
