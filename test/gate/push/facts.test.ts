/** Actor, unit and objects of a push, by the variables of each server. */

import { createHash } from 'node:crypto';
import t from 'tap';
import { isInternal, serverFacts } from '../../../src/gate/push/facts.ts';
import { quarantinePath } from '../../../src/layout/index.ts';
import { incoming, unit } from './world.ts';

const facts = (fields: Readonly<Record<string, string>>) =>
  serverFacts(new Map(Object.entries({ directory: unit, ...fields })));
const gitlab = {
  GL_REPOSITORY: 'project-1',
  GL_PROJECT_PATH: 'bob/app',
  GL_USERNAME: 'bob',
  script: '/hooks/00-softquota',
};

t.test('who pushes is told by the server that knows it', async t => {
  const actor = (fields: Readonly<Record<string, string>>) => facts(fields).actor;
  const ssh = { LOGNAME: 'git', SSH_CONNECTION: '1 2 3 4' };
  t.equal(actor(ssh), 'git');
  t.equal(actor({ ...ssh, REMOTE_USER: 'eve' }), 'git', 'a client of sshd can set it');
  t.equal(actor({ LOGNAME: 'www', REMOTE_USER: 'ann' }), 'ann');
  t.equal(actor({ LOGNAME: 'ann' }), 'ann');
  t.equal(actor({}), '');
  t.equal(actor({ ...ssh, GL_USER: 'ann' }), 'git', 'only with its repository');
  t.equal(actor({ ...ssh, GL_USER: 'ann', GL_REPO: 'app' }), 'ann');
  t.equal(actor({ ...ssh, GITEA_PUSHER_NAME: 'ann', GITEA_REPO_NAME: 'app' }), 'ann');
  t.equal(actor({ ...ssh, GITEA_PUSHER_NAME: 'ann' }), 'git');
  t.equal(actor({ ...ssh, GOGS_AUTH_USER_NAME: 'ann', GOGS_REPO_NAME: 'app' }), 'ann');
  t.equal(actor({ ...ssh, ...gitlab }), 'bob');
  t.equal(actor({ ...ssh, SOFT_SERVE_USERNAME: 'ann', SOFT_SERVE_REPO_NAME: 'app' }), 'ann');
  t.equal(actor({ ...ssh, GITEA_REPO_NAME: 'app' }), 'git', 'where it says nothing');
  for (const name of ['a\nb', 'x'.repeat(256), ' ', '..', '\udcff']) {
    t.equal(actor({ ...ssh, GL_USER: name, GL_REPO: 'app' }), '', JSON.stringify(name).slice(0, 20));
  }
});

t.test('git names its quarantine by the last name of the path', async t => {
  const arriving = (path: string) => facts({ GIT_QUARANTINE_PATH: path }).arriving;
  t.same(arriving(`${unit}/./objects/${incoming}`), { in: 'quarantine', name: incoming });
  t.same(arriving('/elsewhere/incoming-abcdef'), { in: 'quarantine', name: 'incoming-abcdef' });
  for (const path of [
    '',
    '/',
    'objects',
    `${incoming}/..`,
    `${incoming}x`,
    'tmp_objdir-incoming-ab/def',
    `${incoming}\n`,
    'tmp_objdir-gone-aB3xY9',
  ]) {
    t.same(arriving(path), { in: 'unknown' }, JSON.stringify(path));
  }
});

t.test('GitLab names it by the directory of objects', async t => {
  const arriving = (path: string, fields: Readonly<Record<string, string>> = {}) =>
    facts({ ...gitlab, GIT_OBJECT_DIRECTORY: path, ...fields }).arriving;
  t.same(arriving(`${unit}/objects/${incoming}`), { in: 'quarantine', name: incoming });
  t.same(arriving(`objects/${incoming}`), { in: 'quarantine', name: incoming });
  t.same(arriving(`${unit}/objects`), { in: 'nothing' });
  t.same(arriving('objects'), { in: 'nothing' });
  t.same(arriving('./objects/'), { in: 'nothing' });
  t.same(arriving(''), { in: 'unknown' });
  t.same(arriving('/somewhere'), { in: 'unknown' });
  t.same(arriving('/store/+gitaly/tmp/quarantine-0123456789abcdef-42'), {
    in: 'quarantine',
    name: '+gitaly/tmp/quarantine-0123456789abcdef-42',
  });
  const git = { GIT_QUARANTINE_PATH: `${unit}/objects/${incoming}` };
  t.same(arriving(`${unit}/objects`, git), { in: 'quarantine', name: incoming }, 'git knows better');
  t.same(
    facts({ GIT_OBJECT_DIRECTORY: `${unit}/objects` }).arriving,
    { in: 'unknown' },
    'only GitLab says so',
  );
});

t.test("a transaction's snapshot is its repository", async t => {
  const directory = '/store/+gitaly/snapshots/1/shared_2/@hashed/aa/bb/aabb.git';
  const name = `+gitaly/snapshots/1/shared_2/@hashed/aa/bb/aabb.git/objects/${incoming}`;
  const told = facts({ ...gitlab, directory, GIT_OBJECT_DIRECTORY: `${directory}/objects/${incoming}` });
  t.match(told, { directory: '/store/@hashed/aa/bb/aabb.git', arriving: { in: 'quarantine', name } });
  t.equal(quarantinePath('/store/@hashed/aa/bb/aabb.git', name), `/store/${name}`);
  t.equal(quarantinePath('/store/@hashed/aa/bb/other.git', name), null);
  t.equal(facts({ directory }).directory, directory, 'without GitLab it is a directory as others are');
});

t.test('the quarantine of an edit is named after its repository', async t => {
  const below = '@hashed/aa/bb/aabb.git';
  const hash = createHash('sha1').update(below).digest('hex').slice(0, 16);
  const name = `+gitaly/tmp/quarantine-${hash}-1234567890`;
  t.equal(quarantinePath(`/data/store/${below}`, name), `/data/store/${name}`);
  t.equal(quarantinePath('/data/store/@hashed/aa/bb/other.git', name), null);
  for (const odd of [`${name}/../x`, `${name}x`, `/${name}`, name.replace('+gitaly', '+gitaly/..')]) {
    t.equal(quarantinePath(`/data/store/${below}`, odd), null, odd);
  }
});

t.test('GitLab says whose a repository is that no template matches', async t => {
  const claim = (fields: Readonly<Record<string, string>>) => facts({ ...gitlab, ...fields }).claim;
  t.same(claim({}), { ownerName: 'bob', leaf: 'size:repos:private' });
  t.same(claim({ GL_REPOSITORY: 'wiki-1' }), { ownerName: 'bob', leaf: 'size:assets:wiki' });
  t.same(claim({ GL_REPOSITORY: 'group-1-wiki' }), { ownerName: 'bob', leaf: 'size:assets:wiki' });
  t.same(claim({ GL_PROJECT_PATH: 'top/sub/app' }), { ownerName: 'top', leaf: 'size:repos:private' });
  const snippet = { GL_REPOSITORY: 'snippet-1', GL_PROJECT_PATH: 'snippets/1', GL_USERNAME: 'ann' };
  t.match(claim(snippet), { ownerName: 'ann' }, 'only its author writes a snippet of no project');
  t.match(claim({ ...snippet, GL_PROJECT_PATH: 'top/app/snippets/1' }), { ownerName: 'top' });
  for (const fields of [
    { script: 'hooks/pre-receive' },
    { script: `${unit}/hooks/pre-receive` },
    { GL_PROJECT_PATH: '' },
    { GL_PROJECT_PATH: '../x' },
    { GL_REPOSITORY: '' },
  ]) {
    t.equal(claim(fields), null, JSON.stringify(fields));
  }
});

t.test('hidden refs and the beginning of lines', async t => {
  t.match(facts(gitlab), {
    prefix: 'GL-HOOK-ERR: ',
    hidden: ['refs/keep-around/', 'refs/merge-requests/', 'refs/pipelines/', 'refs/environments/'],
  });
  t.match(facts({ GITEA_REPO_NAME: 'app' }), { prefix: '', hidden: ['refs/pull/'] });
  t.match(facts({}), { prefix: '', hidden: [] });
});

t.test('a push of the forge itself runs from its folder with its variable', async t => {
  const internal = (fields: Readonly<Record<string, string>>) => isInternal(new Map(Object.entries(fields)));
  const script = './hooks/pre-receive.d/00-softquota';
  t.equal(internal({ GITEA_INTERNAL_PUSH: 'true', script }), true);
  t.equal(internal({ GITEA_INTERNAL_PUSH: 'true', script: 'hooks/pre-receive' }), false);
  t.equal(internal({ GITEA_INTERNAL_PUSH: '1', script }), false);
  t.equal(internal({ script }), false);
});
