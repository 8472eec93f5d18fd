/** Repositories where nothing collects garbage are reported, and no others. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config/index.ts';
import { checkCollection } from '../../src/doctor/gc.ts';
import { folderFor, repositoryAt, write } from './folder.ts';

function world(t: Test, ini = '') {
  const folder = folderFor(t);
  const paths = ['a.git', 'b.git'].map(name => repositoryAt(join(folder, name)));
  const app = write(join(folder, 'app.ini'), `[server]\nDATA_PATH = ${folder}/data\n${ini}`);
  const home = join(folder, 'home');
  const cron = join(folder, 'cron');
  for (const each of [home, cron]) mkdirSync(each);
  const places = {
    systemConfig: join(folder, 'gitconfig'),
    homeOf: (uid: number) => (uid === 4711 ? home : null),
    schedules: [cron],
  };
  const look = () => {
    const loaded = loadConfig({ file: app, env: {}, cwd: folder, uid: 0 });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
    const repositories = paths.map(path => ({ path, user: { uid: 4711, gid: 0 } }));
    return checkCollection({ loaded }, repositories, places).findings;
  };
  return { folder, paths, app, home, cron, places, look };
}

t.test('git that collects by itself after a push is enough', async t => {
  const { look, home } = world(t);
  t.same(look(), []);
  write(join(home, '.gitconfig'), '[gc]\n\tauto = 100\n[receive]\n\tautogc = true\n');
  t.same(look(), []);
});

t.test('where it is switched off the place is told, once for all repositories', async t => {
  const { look, places, paths, app, home } = world(t);
  write(places.systemConfig, '[gc]\n\tauto = 0\n');
  const [first = '', second = ''] = paths;
  t.match(look(), [
    {
      code: 'gc_missing',
      severity: 'notice',
      message: `${first} and 1 other repository: nothing collects garbage, so what is deleted is never freed: ${places.systemConfig} has gc.auto = 0, and no worker does it`,
      mend: `in ${app} set [reclaim] RUN = gc; then `,
    },
  ]);
  write(join(home, '.config/git/config'), '[gc]\n\tauto = 6700\n');
  t.same(look(), [], "the user's own setting wins");
  write(join(second, 'config'), '[receive]\n\tautogc = no\n');
  t.match(look(), [{ message: new RegExp(`^${second}: .*receive\\.autogc = no`) }]);
  t.equal(look().length, 1);
});

t.test('the worker, a job of cron and the cron of a forge are other ways', async t => {
  const off = '[gc]\n\tauto = 0\n';
  const collecting = world(t, '[reclaim]\nRUN = gc\n');
  write(collecting.places.systemConfig, off);
  t.same(collecting.look(), []);

  const scheduled = world(t);
  write(scheduled.places.systemConfig, off);
  write(join(scheduled.cron, 'repositories'), '# git gc was here\n');
  t.equal(scheduled.look().length, 1);
  write(
    join(scheduled.cron, 'repositories'),
    '0 4 * * * git find /srv -name "*.git" -exec git -C {} gc \\;\n',
  );
  t.same(scheduled.look(), []);

  const folder = folderFor(t);
  const forgeIni = write(join(folder, 'forge.ini'), '[cron.git_gc_repos]\nENABLED = false\n');
  const forge = world(
    t,
    `[forge]\nKIND = gitea\nCONFIG = ${forgeIni}\nDATABASE = sqlite:${folder}/forge.db\n`,
  );
  write(forge.places.systemConfig, off);
  t.equal(forge.look().length, 1);
  write(forgeIni, '[cron.git_gc_repos]\nENABLED = true\n');
  t.same(forge.look(), []);
});
