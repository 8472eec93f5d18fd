/** Every route of each preset: what is asked about, whose it is, and what gets past by no spelling. */

import t from 'tap';
import { type PresetName, presetNames, routesOf, uploadsOf } from '../../../src/layout/index.ts';

/** `METHODS ADDRESS`, with the owner and the subject that is asked about; null: nobody is asked. */
type Row = readonly [asked: string, expected: string | null];

const packages = 'size:assets:packages:all';
const releases = 'size:assets:attachments:releases';
const issues = 'size:assets:attachments:issues';

const container: readonly Row[] = [
  ['POST /v2/alice/app/blobs/uploads/', `alice ${packages}`],
  ['POST /v2/alice/team/app/blobs/uploads/?mount=sha256:1&from=bob/app', `alice ${packages}`],
  ['POST /v2/alice/blobs/uploads/', `alice ${packages}`],
  ['PATCH /v2/alice/app/blobs/uploads/0123', `alice ${packages}, begun`],
  ['PUT /v2/alice/app/blobs/uploads/0123?digest=sha256:1', `alice ${packages}, begun`],
  ['PUT /v2/alice/app/manifests/latest', null],
  ['HEAD GET DELETE /v2/alice/app/blobs/sha256:1', null],
  ['GET DELETE /v2/alice/app/manifests/latest', null],
  ['GET /v2/', null],
];

const gitea: readonly Row[] = [
  ['PUT /alice/app.git/info/lfs/objects/0a1b/4096', 'alice size:git:lfs 4096'],
  ['PUT /alice/app/info/lfs/objects/0a1b/4096', 'alice size:git:lfs 4096'],
  ['POST /alice/app.git/info/lfs/objects/batch', null],
  ['POST /alice/app.git/info/lfs/verify', null],
  ['GET /alice/app.git/info/lfs/objects/0a1b', null],
  ['POST /alice/app/settings/lfs/pointers/associate', 'alice size:git:lfs'],
  ['POST /alice/app.git/git-receive-pack', null],
  ['POST /alice/app.git/git-upload-pack', null],
  ['GET /alice/app.git/info/refs?service=git-receive-pack', null],
  ['PUT /api/packages/alice/generic/tool/1.0/file.bin', `alice ${packages}`],
  ['PUT /api/packages/alice/npm/@scope%2Ftool', `alice ${packages}`],
  ['POST /api/packages/alice/pypi', `alice ${packages}`],
  ['PUT /api/packages/alice/cargo/api/v1/crates/new', `alice ${packages}`],
  ['PUT /api/packages/alice/cargo/api/v1/crates/tool/1.0/unyank', null],
  ['POST /api/packages/alice/npm/-/npm/v1/security/advisories/bulk', null],
  ['POST /api/packages/alice/npm/-/npm/v1/security/audits/quick', null],
  ['PUT /api/packages/alice/conan/v2/conans/a/1/b/c/revisions/1/files/conanfile.py', `alice ${packages}`],
  ['PUT /api/packages/alice/nuget/symbolpackage', `alice ${packages}`],
  ['DELETE GET /api/packages/alice/generic/tool/1.0/file.bin', null],
  ['POST /api/packages/alice/conan/v1/conans/a/1/b/c/upload_urls', null],
  ['POST /api/packages/alice/conan/v2/conans/a/1/b/c/packages/delete', null],
  ['PUT /api/packages/alice/npm/-/package/tool/dist-tags/latest', null],
  ['PUT /api/packages/alice/npm/tool/-rev/1', null],
  ['POST /api/packages/alice/swift/login', null],
  ['PUT /api/packages/alice/swift/scope/name/1.0', `alice ${packages}`],
  ['POST /api/packages/alice/terraform/state/main/lock', null],
  ['POST /api/packages/alice/terraform/state/main', `alice ${packages}`],
  ...container,
  ['POST /alice/app/issues/attachments', `alice ${issues}`],
  ['POST /alice/app/pulls/attachments', `alice ${issues}`],
  ['POST /alice/app/issues/attachments/remove', null],
  ['POST /alice/app/issues/7/comments', null],
  ['POST /api/v1/repos/alice/app/issues/7/assets', `alice ${issues}`],
  ['POST /api/v1/repos/alice/app/issues/comments/7/assets', `alice ${issues}`],
  ['PATCH DELETE GET /api/v1/repos/alice/app/issues/7/assets/1', null],
  ['POST /alice/app/releases/attachments', `alice ${releases}`],
  ['POST /alice/app/releases/attachments/remove', null],
  ['POST /api/v1/repos/alice/app/releases/3/assets?name=x.zip', `alice ${releases}`],
  ['DELETE GET /api/v1/repos/alice/app/releases/3/assets/1', null],
  ['POST /alice/app/upload-file', 'alice repository'],
  ['POST /alice/app/upload-remove', null],
  ['POST /api/v1/orgs/acme/repos', 'acme repository'],
  ['POST /api/v1/admin/users/alice/repos', 'alice repository'],
  ['GET /api/v1/orgs/acme/repos', null],
  ['POST /api/v1/repos/alice/app/mirror-sync', 'alice repository'],
  ['POST /alice/app/settings/migrate/retry', 'alice size:all'],
  ['POST /alice/app/_delete/main/README.md', null],
  ['DELETE /api/v1/repos/alice/app', null],
  ['DELETE /api/v1/repos/alice/app/contents/README.md', null],
  ['POST /alice/app/settings', null],
];

const tables: Readonly<Record<PresetName, readonly Row[]>> = {
  'git-http': [
    ['GET /alice/app.git/info/refs?service=git-receive-pack', null],
    ['POST /alice/app.git/git-receive-pack', null],
  ],
  lfs: [
    ['PUT /alice/app.git/info/lfs/objects/0a1b/4096', 'alice size:git:lfs 4096'],
    ['PUT /alice/app.git/info/lfs/objects/0a1b', 'alice size:git:lfs'],
    ['PUT /alice/team/app.git/info/lfs/objects/0a1b', 'alice size:git:lfs'],
    ['GET /alice/app.git/info/lfs/objects/0a1b', null],
    ['POST /alice/app.git/info/lfs/objects/batch', null],
    ['POST /alice/app.git/info/lfs/locks', null],
    ['PUT /alice/app.git/info/lfs/objects/storage/0a1b', 'alice size:git:lfs'],
    ['PUT /alice/app/objects/storage/0a1b', 'alice size:git:lfs'],
    ['POST /alice/app/objects/storage/verify', null],
  ],
  gitea,
  forgejo: gitea,
  gitlab: [
    ['PUT /acme/team/app.git/gitlab-lfs/objects/0a1b/4096', 'acme size:git:lfs 4096'],
    ['GET /acme/team/app.git/gitlab-lfs/objects/0a1b', null],
    ['PUT /api/v4/projects/acme%2Fteam%2Fapp/packages/generic/a/1/f', `acme ${packages}`],
    ['POST /api/v4/projects/acme%2Fapp/packages/pypi', `acme ${packages}`],
    ['DELETE GET /api/v4/projects/acme%2Fapp/packages/7', null],
    ['POST /api/v4/projects/acme%2Fapp/uploads', `acme ${issues}`],
    ['POST /acme/team/app/uploads', `acme ${issues}`],
    ['POST /acme/app/-/issues', null],
    ['POST /groups/acme/team/-/uploads', `acme ${issues}`],
    ['POST /api/v4/groups/acme%2Fteam/wikis/attachments', `acme ${issues}`],
    ['POST /api/v4/projects/acme%2Fapp/wikis/attachments', `acme ${issues}`],
    ['POST /api/v4/projects/acme%2Fapp/issues/7/metric_images', `acme ${issues}`],
    ['POST /api/v4/projects/acme%2Fapp/alert_management_alerts/7/metric_images', `acme ${issues}`],
    ['POST /api/v4/projects/acme%2Fteam%2Fapp/mirror/pull', 'acme repository'],
    ['POST /api/v4/projects/acme%2Fapp/packages/npm/-/npm/v1/security/advisories/bulk', null],
    ['POST /api/v4/groups/acme%2Fteam/-/packages/npm/-/npm/v1/security/audits/quick', null],
    ['PUT /api/v4/projects/acme%2Fapp/packages/generic/packages/protection/rules', `acme ${packages}`],
    ['POST /api/v4/projects/acme%2Fapp/packages/conan/v1/conans/a/1/b/c/upload_urls', null],
    ['POST /api/v4/projects/acme%2Fapp/packages/protection/rules', null],
    ...container,
  ],
  gogs: [
    ['PUT /alice/app.git/info/lfs/objects/basic/0a1b', 'alice size:git:lfs'],
    ['POST /alice/app.git/info/lfs/objects/basic/verify', null],
    ['GET /alice/app.git/info/lfs/objects/basic/0a1b', null],
    ['POST /alice/app/upload-file', 'alice repository'],
    ['POST /api/v1/org/acme/repos', 'acme repository'],
    ['POST /api/v1/repos/alice/app/mirror-sync', 'alice repository'],
    ['DELETE /api/v1/repos/alice/app', null],
  ],
  verdaccio: [
    ['PUT /@alice%2ftool', `alice ${packages}`],
    ['PUT /@alice/tool', `alice ${packages}`],
    ['PUT /@alice%2ftool/-rev/1-0', null],
    ['PUT /@alice%2ftool/-/tool-1.0.0.tgz/0', `alice ${packages}`],
    ['PUT /@alice%2ftool/any/name', `alice ${packages}`],
    ['PUT /@alice/tool/any', `alice ${packages}`],
    ['PUT /-/package/@alice%2ftool/dist-tags/latest', null],
    ['PUT /-/user/org.couchdb.user:alice', null],
    ['DELETE /@alice%2ftool/-/tool-1.0.0.tgz/-rev/1-0', null],
    ['GET /@alice%2ftool', null],
    ['PUT /tool', null],
  ],
  distribution: container,
};

function allTold(preset: PresetName, method: string, address: string, { base = '/', early = false } = {}) {
  return uploadsOf(routesOf([preset], base, early), method, address).map(
    ({ owner, subject, sizeBytes, part }) =>
      `${owner} ${subject}${sizeBytes > 0 ? ` ${sizeBytes}` : ''}${part === 'later' ? ', begun' : ''}`,
  );
}

/** The only one, or null. */
function told(...asked: Parameters<typeof allTold>): string | null {
  const all = allTold(...asked);
  return all.length > 1 ? all.join(' and ') : (all[0] ?? null);
}

/** The method and the address of each request of a row. */
function requestsOf(row: string): readonly (readonly [string, string])[] {
  const [, methods = '', address = ''] = /^(.*) (\/.*)$/.exec(row) ?? [];
  return methods.split(' ').map(method => [method, address] as const);
}

for (const preset of presetNames) {
  t.test(`${preset}: each route is asked about, or is not`, t => {
    for (const [row, expected] of tables[preset]) {
      for (const [method, address] of requestsOf(row)) {
        t.equal(told(preset, method, address), expected, `${method} ${address}`);
      }
    }
    t.end();
  });
}

/** Other spellings of an address that some server takes for the same. */
function spellingsOf(address: string): readonly string[] {
  const [path = '', query] = address.split('?');
  const end = query === undefined ? '' : `?${query}`;
  const names = path.split('/').slice(1);
  const encoded = names.map(name => (name.includes('%') ? name : name.replace(/[a-z]/, encodedLetter)));
  return [
    path.replaceAll('/', '//'),
    `${path}/`,
    `/.${path}`,
    `/x/..${path}`,
    `/%2e/x/%2E%2e${path}`,
    `/${names.join('/./')}`,
    `/${names[0]}/x/../${names.slice(1).join('/')}`,
    `/${encoded.join('/')}`,
    `/${names.join('%2F')}`,
    `${path}#fragment`,
    `http://git.example${path}`,
    `${'/./x/..'.repeat(500)}${path}`,
  ].map(spelling => `${spelling}${end}`);
}

function encodedLetter(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
}

t.test('no spelling of an address gets past', t => {
  for (const preset of presetNames) {
    for (const [row, expected] of tables[preset]) {
      if (expected === null) continue;
      for (const [method, address] of requestsOf(row)) {
        for (const spelling of spellingsOf(address)) {
          const asked = allTold(preset, method, spelling);
          if (!asked.includes(expected)) t.fail(`${preset}: ${method} ${spelling.slice(0, 200)}`, { asked });
        }
        // Letters of the server's own names; an owner's are the registry's matter.
        const loud = address.replace(/packages|attachments|objects|uploads|assets/g, word =>
          word.toUpperCase(),
        );
        t.equal(told(preset, method.toLowerCase(), loud), expected, `${preset}: ${method} ${loud}`);
      }
    }
  }
  t.end();
});

t.test('a reading that leads elsewhere hides no other', t => {
  const sly = (tail: string) => allTold('gitea', 'PUT', `/api/packages/alice/maven/${tail}`);
  for (const up of ['../../../..', '..%2F../../..', '%2e%2e/%2E./../..'])
    t.strictSame(sly(`${up}/bob/repo/info/lfs/objects/x/1`).sort(), [
      `alice ${packages}`,
      'bob size:git:lfs 1',
    ]);
  t.strictSame(allTold('gitea', 'POST', '/v2/alice/im#x/blobs/uploads/'), [`alice ${packages}`]);
  t.strictSame(
    allTold('gitlab', 'PUT', '/api/v4/projects/42/packages/generic/a/1/f'),
    [],
    'a number is nobody',
  );
  t.end();
});

t.test('what grows nothing does so by every reading, and the rest is read as it stands', t => {
  const sly = '/api/packages/alice/npm/tool/-rev/../../generic/tool/1/-rev/../file';
  t.equal(told('gitea', 'PUT', sly), `alice ${packages}`);
  t.equal(
    told('gitea', 'PUT', '/api/packages/alice/npm/-/package/x%2Fdist-tags%2Flatest'),
    `alice ${packages}`,
  );
  t.equal(told('gitea', 'PUT', '/api/packages/al%zzice/generic/x'), `al%zzice ${packages}`);
  t.equal(told('gitea', 'PUT', '/api/packages/alice/generic/%ff%fe'), `alice ${packages}`);
  t.equal(told('gitea', 'PUT', `/api/packages/alice/${'a/'.repeat(8000)}`), `alice ${packages}`);
  t.equal(told('gitlab', 'PUT', `/${'a/'.repeat(4000)}x`), null, 'and long ones take no long time');
  t.end();
});

t.test('a server below a path, and pushes that are refused early', t => {
  const git = { base: '/git/', early: true };
  const refs = 'info/refs?service=git-receive-pack';
  t.equal(told('gitea', 'GET', `/git/alice/app.git/${refs}`, git), 'alice repository');
  t.equal(told('git-http', 'GET', `/alice/team/app.git/${refs}`, { early: true }), 'alice repository');
  t.equal(told('git-http', 'GET', `/alice/app.wiki.git/${refs}`, { early: true }), 'alice size:assets:wiki');
  t.equal(told('gitea', 'GET', '/git/alice/app.git/info/refs?service=git-upload-pack', git), null);
  t.equal(told('gitea', 'GET', '/git/alice/app.git/info/refs', git), null);
  t.equal(
    told('gitea', 'GET', `/git/alice/app.git/${refs.replace('pack', '%70ack')}`, git),
    'alice repository',
  );
  t.equal(told('verdaccio', 'GET', `/alice/app.git/${refs}`, { early: true }), null, 'it is no git server');
  t.equal(told('gitea', 'PUT', '/git/api/packages/alice/generic/x', git), `alice ${packages}`);
  t.equal(
    told('gitea', 'PUT', '/api/packages/alice/generic/x', git),
    `alice ${packages}`,
    'a proxy may take the path off',
  );
  t.equal(told('gitlab', 'PUT', '/git/alice/app.git/gitlab-lfs/objects/0a/4', git), 'alice size:git:lfs 4');
  t.equal(told('gitea', 'POST', '/v2/alice/app/blobs/uploads/', git), `alice ${packages}`, 'at the root');
  t.end();
});
