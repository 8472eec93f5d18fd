/**
 * Schemathesis, the fuzzer of other people for OpenAPI, against the description that the daemon gives of
 * itself: no 500, no answer outside its schema, no invalid input taken, no valid input refused.
 *
 * What it sends is bounded in number and in time, and goes to the daemon of this test only.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { must, run } from '../e2e/run.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { fill, story } from './operations.ts';
import { World } from './world.ts';

t.setTimeout(3_600_000);

const seeds = [1, 2, 3];

/**
 * Operations that refuse input no schema can call wrong: times in the past, names of what is not there or may
 * not do that, duplicates.
 */
const withMeaning = [
  'createAllowance',
  'createGroup',
  'createRule',
  'createSource',
  'createToken',
  'createUser',
  'editRule',
  'editSource',
  'editUser',
  'getHistory',
  'grantRequest',
  'linkUser',
  'listUsage',
  'makeSignInLink',
  'replacePolicy',
  'requestSpaceForCaller',
  'requestSpaceForOrganization',
  'setGroupsOfUser',
  'simulatePolicy',
  'synchronizeUser',
  'trySource',
  'trySourceDraft',
];

/**
 * A header or a body that is too long is refused, too. Wrong tokens are slowed down:
 * test/api/slowing.test.ts.
 */
const settings = `
[checks]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 422, 429, 431]

[[operations]]
include-operation-id = ${JSON.stringify(withMeaning)}
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422, 429]
`;

const folder = temporaryFolder(t);
const python = join(folder, 'python');
await must('python3', ['-m', 'venv', python]);
await must(join(python, 'bin/pip'), ['install', '-q', 'schemathesis==4.32.5'], {
  env: { HOME: process.env.HOME ?? folder },
});
const settingsFile = join(folder, 'schemathesis.toml');
await writeFile(settingsFile, settings);

for (const seed of seeds) {
  t.test(`nothing is found with seed ${seed}`, async t => {
    const world = await World.open(t);
    await fill(world);
    for await (const [id, example] of story(world)) {
      const isEnd = /^(delete|end|remove|revoke|unlink|withdraw|signOut)/.test(id);
      if (!isEnd) await world.call(example.method, example.path, example);
    }
    // The token's user is nobody whom the fuzzer knows from the examples.
    await world.post('/admin/users', { username: 'keeper', is_admin: true });
    const token = await world.newToken('keeper', ['all']);
    const address = new URL('api/v1', world.url).href;
    const bounds = ['--seed', String(seed), '--max-examples', '50', '--max-time', '180', '--workers', '2'];
    const what = ['--exclude-checks', 'ignored_auth', '--warnings', 'off'];
    const found = await run(
      join(python, 'bin/schemathesis'),
      [
        ...['--config-file', settingsFile, 'run', `${address}/openapi.json`, '--url', address],
        ...['--header', `Authorization: Bearer ${token}`, '--no-color', ...bounds, ...what],
        ...['--generation-database', 'none', '--continue-on-failure'],
      ],
      { cwd: folder },
    );
    t.match(found.stdout, /Tested: \d{3}/, 'all operations are tried', found);
    t.equal(found.code, 0, 'nothing is found', { stdout: found.stdout, stderr: found.stderr });
    const faults = world.log.filter(line => /"level":(50|60)/.test(line));
    t.strictSame(faults, [], 'the daemon logs no error');
  });
}
