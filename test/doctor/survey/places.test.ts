import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parseAccounts } from '../../../src/accounts.ts';
import { survey, surveyPlaces, wellKnownPlaces } from '../../../src/doctor/index.ts';
import { avoid } from '../../layout/avoid.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { repository } from './world.ts';

t.test('the usual places are those of distributions, and the home of the account git', t => {
  const places = wellKnownPlaces(
    parseAccounts('git:x:998:997:Git,,,:/home/git:/bin/sh\nbob:x:1:1::/home/bob:', ''),
  );
  for (const place of ['/srv/git', '/var/lib/gitolite3', '/var/lib/forgejo', '/home/git/repositories']) {
    t.ok(places.includes(place), place);
  }
  t.notOk(places.some(place => place.includes('bob')));
  t.notOk(wellKnownPlaces(parseAccounts('git:x:998:997::/:/bin/sh\nbroken line\n', '')).includes('/'));
  t.end();
});

t.test('of the usual places the one that holds repositories is taken', async t => {
  const folder = temporaryFolder(t);
  for (const name of ['empty', 'git', 'home']) mkdirSync(join(folder, name));
  repository(join(folder, 'git/alice/app.git'));
  // One and the same by another name.
  symlinkSync(join(folder, 'git'), join(folder, 'home/repositories'));
  const places = ['nowhere', 'empty', 'git', 'home/repositories'].map(name => join(folder, name));
  const found = await surveyPlaces(places);
  t.match(found, { root: `${folder}/git`, repositories: 1 });
  t.match(found.evidence[0], /one of the usual directories/);
});

t.test('where several of the usual places hold repositories, or none, it is asked which', async t => {
  const folder = temporaryFolder(t);
  const places = [join(folder, 'a'), join(folder, 'b')];
  await t.rejects(surveyPlaces(places), {
    code: 'usage',
    message: /no repositories are in the usual directories.*softquota init ROOT/,
  });
  for (const place of places) repository(join(place, 'alice/app.git'));
  await t.rejects(surveyPlaces(places), {
    code: 'usage',
    message: `repositories are in several directories: ${places.join(', ')}`,
  });
});

t.test('where the disk of a usual place does not answer, it is asked which is meant', async t => {
  const folder = temporaryFolder(t);
  const near = join(folder, 'near');
  const far = join(folder, 'far');
  mkdirSync(far);
  avoid(t, far);
  await t.rejects(surveyPlaces([near, far]), {
    code: 'not_ready',
    message: `it cannot be found out whether repositories are in ${far}. Name their directory: softquota init ROOT`,
  });
  repository(join(near, 'alice/app.git'));
  await t.rejects(surveyPlaces([near, far]), {
    code: 'not_ready',
    message: new RegExp(`softquota init ${near}$`),
  });
  await t.rejects(survey(far), { code: 'not_ready', message: new RegExp(`^${far} cannot be read`) });
});
