/** Repositories where gc does not run, or nothing starts it, are reported, and no others. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkCollection, checkGc } from '../../src/doctor/gc.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { context, findingsOf, installationIn, write } from './folder.ts';
import { repository } from './survey/world.ts';

function world(t: Test, ini = '') {
  const folder = temporaryFolder(t);
  const paths = ['a.git', 'b.git'].map(name => repository(join(folder, name)));
  const installation = installationIn(folder, `[server]\nDATA_PATH = ${folder}/data\n${ini}`);
  const home = join(folder, 'home');
  const cron = join(folder, 'cron');
  for (const each of [home, cron]) mkdirSync(each);
  const places = {
    systemConfig: join(folder, 'gitconfig'),
    homeOf: (uid: number) => (uid === 4711 ? home : null),
    schedules: [cron],
  };
  const look = () => {
    const repositories = paths.map(path => ({ path, user: { uid: 4711, gid: 0 } }));
    return findingsOf(report => checkCollection(report, installation, repositories, places));
  };
  return { folder, paths, app: join(folder, 'app.ini'), home, cron, places, look };
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
      mend: new RegExp(
        `^in ${app} set \\[reclaim\\] RUN = gc; then .*restart .*, and the worker: restart the worker$`,
      ),
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

  const folder = temporaryFolder(t);
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

t.test('git itself decides by as many loose objects and packs', async t => {
  const path = repository(join(temporaryFolder(t), 'app.git'));
  const look = () => findingsOf(report => checkGc(report, context, [{ path, user: { uid: 0, gid: 0 } }]));
  const loose = (count: number) => {
    for (let number = 0; number < count; number++) {
      write(join(path, 'objects/17', number.toString(16).padStart(38, '0')), '');
    }
  };
  loose(26);
  t.strictSame(look(), []);
  loose(27);
  t.match(look(), [
    {
      code: 'gc_missing',
      severity: 'notice',
      message: /about 6,912 loose/,
      mend: `git -C ${path} gc --quiet`,
    },
  ]);
});

t.test('packs that are kept on purpose do not count', async t => {
  const path = repository(join(temporaryFolder(t), 'app.git'));
  const look = () => findingsOf(report => checkGc(report, context, [{ path, user: { uid: 4711, gid: 0 } }]));
  for (let number = 0; number < 51; number++) write(join(path, `objects/pack/pack-${number}.pack`), '');
  t.match(look(), [
    { code: 'gc_missing', message: /51 packs/, mend: /^setpriv --reuid=4711 --clear-groups git / },
  ]);
  write(join(path, 'objects/pack/pack-1.keep'), '');
  t.strictSame(look(), []);
});

t.test('no gc is advised where objects are lent, or are those of Gitaly', async t => {
  const folder = temporaryFolder(t);
  const [lender, borrower, pool] = ['lender.git', 'borrower.git', '@pools/aa/bb/cc.git'].map(name =>
    repository(join(folder, name)),
  ) as [string, string, string];
  for (const path of [lender, pool])
    for (let number = 0; number < 51; number++) write(join(path, `objects/pack/pack-${number}.pack`), '');
  const look = (paths: readonly string[]) => {
    const repositories = paths.map(path => ({ path, user: { uid: 0, gid: 0 } }));
    return findingsOf(report => checkGc(report, context, repositories));
  };
  t.match(look([lender, borrower, pool]), [{ code: 'gc_missing', message: /lender\.git: 51 packs/ }]);
  write(join(borrower, 'objects/info/alternates'), '../../lender.git/objects\n');
  t.strictSame(look([lender, borrower, pool]), []);
});
