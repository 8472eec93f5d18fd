/** Checks of package-lock.json in `.ci/run`, against a registry of the test's own. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { run } from '../e2e/run.ts';
import { served } from '../served.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const script = fileURLToPath(new URL('../../scripts/check-packages.ts', import.meta.url));

interface Entry {
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly resolved?: string;
}

const about = { name: 'thing', version: '1.0.0', dist: { tarball: 'http://127.0.0.1:2/thing.tgz' } };
const packument = { name: 'thing', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': about } };

/**
 * A project that bundles the package `thing`, at a registry that knows these advisories of it; null: it is out
 * of order.
 */
async function checked(
  t: Test,
  thing: Entry,
  severities: readonly string[] | null,
  bundled: readonly string[] = ['thing'],
) {
  const port = await served(t, (request, response) => {
    request.resume().on('end', () => {
      const advisories = (severities ?? []).map((severity, at) => ({
        id: at + 1,
        url: 'https://advisories.example/1',
        title: 'it can be broken into',
        severity,
        vulnerable_versions: '<2.0.0',
        cwe: [],
        cvss: { score: 0, vectorString: null },
      }));
      response.writeHead(severities === null ? 500 : 200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(request.url === '/thing' ? packument : { thing: advisories }));
    });
  });
  const folder = temporaryFolder(t);
  const manifest = { name: 'project', version: '1.0.0', devDependencies: { thing: '^1.0.0' } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  const packages = { '': manifest, 'node_modules/thing': { version: '1.0.0', dev: true, ...thing } };
  const file = join(folder, 'package-lock.json');
  await writeFile(file, JSON.stringify({ ...manifest, lockfileVersion: 3, requires: true, packages }));
  await mkdir(join(folder, 'dist/web'), { recursive: true });
  const licenses = ['# Licenses', ...bundled.map(name => `## ${name} - 1.0.0 (MIT)`)].join('\n');
  await writeFile(join(folder, 'dist/licenses.txt'), licenses);
  for (const name of ['licenses-forge.txt', 'licenses-width.txt', 'web/licenses.txt']) {
    await writeFile(join(folder, 'dist', name), '# Licenses\n');
  }
  return run(process.execPath, [script, file], {
    env: { npm_config_registry: `http://127.0.0.1:${port}/`, HOME: folder },
  });
}

t.test('packages that are bundled and have no known vulnerabilities are good', async t => {
  t.match(await checked(t, {}, []), { code: 0, stdout: '' });
  t.match(await checked(t, {}, ['low', 'moderate']), { code: 0, stdout: '' });
});

t.test('a package that runs a script when it is installed is named', async t => {
  t.match(await checked(t, { dev: false }, []), { code: 0 });
  t.match(await checked(t, { dev: false, hasInstallScript: true }, []), {
    code: 1,
    stdout: /node_modules\/thing runs a script when it is installed/,
  });
});

t.test('an address that something was downloaded from is named', async t => {
  const resolved = 'https://packages.example/thing.tgz';
  t.match(await checked(t, { resolved }, []), { code: 1, stdout: /says where it was downloaded from/ });
});

t.test('a vulnerability is named from high on, and a registry out of order fails nothing', async t => {
  t.match(await checked(t, {}, ['high']), { code: 1, stdout: /thing has a known vulnerability \(high\)/ });
  t.match(await checked(t, {}, ['critical']), { code: 1, stdout: /\(critical\)/ });
  t.match(await checked(t, {}, ['high'], []), { code: 0, stdout: '' }, 'what only builds and tests');
  t.match(await checked(t, {}, null), { code: 0, stdout: /registry does not say/ });
});
