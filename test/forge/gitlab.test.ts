/** A GitLab of made rows in a real PostgreSQL: each owner has what the one who made them counted. */

import t from 'tap';
import { gitlabExpected, gitlabUnowned, hashOf, openGitlab } from './gitlab-world.ts';
import { Readings, settingsFor } from './readings.ts';

t.setTimeout(300_000);

const gitlab = (address: string, ownerLevel: 'top' | 'namespace' = 'top') =>
  settingsFor(address, { kind: 'gitlab', ownerLevel });

/** The database of all tests but one. Those that change it come last. */
const { address, sql } = await openGitlab(t);

t.test('with OWNER = namespace a group owns what is in it, and those above own the group', async t => {
  const readings = new Readings(t, gitlab(address, 'namespace'));
  await readings.read();
  readings.match(t, gitlabExpected.namespace);
  t.strictSame(readings.members, [
    { organization: 9, owners: [1, 2], members: [3] },
    { organization: 10, owners: [1], members: [3] },
    { organization: 12, owners: [1, 2], members: [3] },
  ]);
});

t.test('the top-level namespace owns what is below it', async t => {
  const readings = new Readings(t, gitlab(address));
  const { unowned } = await readings.read();
  readings.match(t, gitlabExpected.top);
  const owners = [...readings.owners.values()];
  t.strictSame(
    owners.map(({ name, type, email, isAdmin }) => [name, type, email, isAdmin]),
    [
      ['Alice', 'user', 'Alice@git.example', true],
      ['bob', 'user', 'bob@git.example', false],
      ['carol', 'user', 'carol@git.example', false],
      ['team', 'organization', '', false],
    ],
  );
  t.strictSame(
    readings.members,
    [{ organization: 10, owners: [1], members: [3] }],
    'who only asks to be a member is none',
  );
  t.strictSame(unowned, gitlabUnowned);
  const placeOf = (project: number) => `@hashed/${hashOf(project)}`;
  t.match(await readings.reader.lfsObjects(placeOf(4)), [{ bytes: 5 }], 'what only this project has');
  t.strictSame(await readings.reader.lfsObjects(placeOf(5)), [], 'what another project has, too');
  t.strictSame(await readings.reader.lfsObjects(placeOf(77)), []);

  await sql('UPDATE projects SET namespace_id = 2 WHERE id = 3');
  await readings.read('full');
  t.equal(
    readings.bytesOf('bob')['size:assets:artifacts'],
    700,
    'a project that is moved takes along what it has',
  );
  t.equal(readings.bytesOf('bob')['size:git:lfs'], 21_000);
  t.equal(readings.changedRepositories?.length, 1, 'and its repository is told as another one’s');

  await sql('UPDATE namespaces SET parent_id = NULL WHERE id = 9');
  await readings.read('full');
  t.strictSame(readings.bytesOf('platform'), {
    'size:git:lfs': 5,
    'size:assets:attachments:issues': 220,
    'size:assets:artifacts': 8000,
    'size:assets:packages:all': 200,
  });
});

t.test('the table of artifacts is found by its former name, too', async t => {
  const { address, sql } = await openGitlab(t, { artifacts: 'whole' });
  const readings = new Readings(t, gitlab(address));
  // Namespaces of users may have no type in GitLab of 2021.
  await sql("UPDATE namespaces SET type = NULL WHERE type = 'User'");
  await readings.read();
  readings.match(t, gitlabExpected.top);
});

t.test('a part of the divided table of artifacts is not taken for all of it', async t => {
  const readings = new Readings(t, gitlab(address));
  // GitLab 16.10 to 18.0 looks so to a reader that was given the right to the former table only.
  await sql(`CREATE TABLE ci_job_artifacts PARTITION OF p_ci_job_artifacts FOR VALUES IN (102);
    GRANT SELECT ON ci_job_artifacts TO softquota; REVOKE SELECT ON p_ci_job_artifacts FROM softquota`);
  await t.rejects(readings.read(), {
    code: 'schema',
    message: /the table p_ci_job_artifacts or ci_job_artifacts is missing, or may not be read/,
  });
});
