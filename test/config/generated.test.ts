import { readFileSync } from 'node:fs';
import t from 'tap';
import { formatFaults, loadConfig, sections } from '../../src/config/index.ts';
import { folderWith } from './written.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

t.test('the reference has every section and every key, and says what takes a restart', async t => {
  const reference = read('docs/configuration.md');
  for (const { name, keys } of sections) {
    t.match(reference, `[${name.replace('*', 'NAME')}]`);
    for (const key of keys) t.match(reference, `| \`${key.name}\` | `, `[${name}] ${key.name}`);
  }
  t.match(reference, /\| `TOTAL` \| `-1` \| reload \|/);
  t.match(reference, /\| `HTTP_PORT` \| `3080` \| restart \|/);
});

t.test('every line of the example that is switched on by taking its ; away is sound', async t => {
  const example = read('app.ini.example').replaceAll(/^;/gm, '');
  // Only GitLab has a cluster.
  const ofGitlab = example.replace(/^KIND = .*$/m, 'KIND = gitlab');
  const cwd = folderWith(t, { 'app.ini': ofGitlab });
  const loaded = loadConfig({ file: 'app.ini', env: {}, cwd, uid: 1000 });
  t.equal(loaded.ok ? '' : formatFaults(loaded.faults), '');
});
