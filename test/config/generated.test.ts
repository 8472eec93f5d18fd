import { readFileSync } from 'node:fs';
import t from 'tap';
import { formatFaults, loadConfig } from '../../src/config/index.ts';
import { folderWith } from './written.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

t.test('every line of the example that is switched on by taking its ; away is sound', async t => {
  const example = read('app.ini.example').replaceAll(/^;/gm, '');
  // Only GitLab has a cluster.
  const ofGitlab = example.replace(/^KIND = .*$/m, 'KIND = gitlab');
  const cwd = folderWith(t, { 'app.ini': ofGitlab });
  const loaded = loadConfig({ file: 'app.ini', env: {}, cwd, uid: 1000 });
  t.equal(loaded.ok ? '' : formatFaults(loaded.faults), '');
});
