/** The packages beside the tests hide none of those that softquota is built of. */

import { readFileSync } from 'node:fs';
import t from 'tap';

const jsonOf = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

t.test('tests load the packages of the root, but for those that test/package.json names', async t => {
  const { packages } = jsonOf('../package-lock.json');
  const beside = Object.keys(packages)
    .map(path => /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1])
    .filter(name => name !== undefined);
  const named = Object.keys(jsonOf('../package.json').devDependencies);
  t.strictSame(beside.sort(), named.sort());
  const { dependencies, devDependencies } = jsonOf('../../package.json');
  t.strictSame(
    named.filter(name => name in { ...dependencies, ...devDependencies }),
    [],
  );
});
