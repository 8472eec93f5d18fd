/** Answers to a push, and what counts because of it. */

import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { SoftquotaError } from '../../../src/errors.ts';
import { noRoom, type Room } from '../../../src/gate/index.ts';
import { locatedOf } from '../world.ts';
import { creates, deletes, incoming, MB, openPushWorld, unit, updates } from './world.ts';

/** A world with an owner over the limit, and a push without an object. */
async function withoutObjects(t: Test, changed?: Parameters<typeof openPushWorld>[1]) {
  const world = await openPushWorld(t, changed);
  world.brings(1072, { sample: null });
  world.walk(unit, 'bob', 11 * MB);
  return world;
}

const many = (count: number) => creates(...Array.from({ length: count }, (_, at) => `refs/n/${at}`));
const gitlab = {
  GL_REPOSITORY: 'project-1',
  GL_PROJECT_PATH: 'bob/app',
  GL_USERNAME: 'bob',
  script: '/h/00-softquota',
};

t.test('an owner below the limit may go on, and what comes counts at once', async t => {
  const { push, brings, told, ledger, mayWrite } = await openPushWorld(t);
  brings(MB);
  t.match(await push(), { status: 200, text: 'Quota warning: bob uses 8 MB of 10 MB (80 %).\n' });
  t.match(told.pushes, [{ unit: { path: unit }, name: incoming, quarantine: { bytes: MB } }]);
  t.equal(told.pushes[0]?.lines, creates('refs/heads/main'));
  t.equal(ledger.units.unit(unit)?.bytes, 9 * MB);
  t.same([told.refused, told.letThrough, mayWrite], [[], [], [unit]]);
});

t.test('below all thresholds the pusher reads nothing', async t => {
  const { push, walk } = await openPushWorld(t);
  walk(unit, 'bob', MB);
  t.match(await push(), { status: 200, text: '' });
});

t.test('an owner over the limit is refused, and reads what helps', async t => {
  const { push, walk, told, worker } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  told.contact = 'https://git.example/quota';
  worker({
    isHere: true,
    spaceLines: () => ['Removing these frees the most:', ' 9 MB  file a\x1b[2Jb', '3', '4', '5', '6'],
  });
  const { status, text } = await push({ fields: { LOGNAME: 'ann' } });
  t.equal(status, 413);
  t.same(text.split('\n'), [
    'Quota exceeded: bob uses 11 MB of 10 MB (110 %).',
    'Removing these frees the most:',
    ' 9 MB  file a\\u{1b}[2Jb',
    '3',
    '4',
    '5',
    'This repository: 11 MB. Nothing from this push was stored. You can still',
    'delete branches and tags, or push a smaller history with --force; this frees',
    "space at the server's next garbage collection. Ask the administrator when",
    'that is.',
    'To ask for more space: https://git.example/quota',
    '',
  ]);
  t.match(told.refused, [{ owner: 'bob', actor: 'ann', subject: 'size:repos:private', mode: 'enforce' }]);
  t.same(told.pushes, []);
});

t.test('where git refuses --force, nobody is told to use it', async t => {
  const { push, walk, told, worker } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  worker({ isHere: true });
  told.pushServices.deniesForce = async path => path === unit;
  const { text } = await push();
  t.same(text.split('\n').slice(1), [
    'This repository: 11 MB. Nothing from this push was stored. You can still',
    'delete branches and tags, in a push of their own; this frees space at the',
    "server's next garbage collection. Ask the administrator when that is. The",
    'repository takes no --force, because of receive.denyNonFastForwards.',
    '',
  ]);
});

t.test('where the worker collects, the refusal says from when on there is room, or pushes pass', async t => {
  const { push, walk, worker } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  const asked: unknown[] = [];
  const at = Date.now() + 3_600_000;
  const clock = new Date(Math.ceil(at / 60_000) * 60_000).toISOString().slice(11, 16);
  const said = async (room: Partial<Room>) => {
    worker({
      isHere: true,
      roomFor: (...question) => {
        asked.push(question.slice(0, 2));
        return { ...noRoom, ...room };
      },
    });
    const { text } = await push({ fields: { process: String(asked.length) } });
    return text.replaceAll('\n', ' ');
  };
  const ways = 'You can still delete branches and tags, or push a smaller history with --force';
  t.match(await said({ freedAt: at }), `${ways}; this frees space from ${clock} UTC on. `);
  t.match(
    await said({ freedAt: at, isForgiving: true }),
    `${ways}; data that no branch or tag reaches then does not count. `,
  );
  t.match(
    await said({ freedAt: at, passesAt: at }),
    `${ways}. Pushes pass again from ${clock} UTC on, when deleted data is off the disk. `,
  );
  t.same(asked[0], ['bob', unit]);
});

t.test('who names no quarantine of the repository does not read what is in it', async t => {
  const { push, walk, worker, quarantines } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  worker({ spaceLines: () => ['secret'] });
  t.match((await push()).text, 'secret');
  t.notMatch((await push({ fields: { GIT_QUARANTINE_PATH: 'incoming-aaaaaa' } })).text, 'secret');
  t.notMatch((await push({ fields: { GIT_QUARANTINE_PATH: '' } })).text, 'secret');
  quarantines.set(`${unit} ${incoming}`, 'unreadable');
  t.notMatch((await push({ fields: { process: '9' } })).text, 'secret');
});

t.test('in report mode all goes on, nobody is spoken to, and it is on record', async t => {
  const { push, walk, told } = await openPushWorld(t, { mode: 'report' });
  walk(unit, 'bob', 11 * MB);
  t.match(await push(), { status: 200, text: '' });
  t.match(told.refused, [{ mode: 'report' }]);
  t.equal(told.pushes.length, 1);
});

t.test('a full disk refuses, and is not judged', async t => {
  const { push, told, worker } = await openPushWorld(t);
  told.fullDisk = { of: unit, free: 1, size: 100, least: 50 } as unknown as typeof told.fullDisk;
  worker({ isHere: true, ask: async () => ({ smaller: true, words: 'no', sample: null }) });
  t.equal((await push({ lines: updates('refs/heads/main') })).status, 413);
  t.equal(told.pushes.length, 0);
});

t.test('PRECISE: what comes has to fit as well', async t => {
  const { push, brings, told } = await openPushWorld(t, { precise: true });
  brings(2 * MB - 41);
  t.equal((await push()).status, 200, 'with the file of its ref');
  brings(2 * MB - 40, { name: 'incoming-bbbbbb' });
  told.pushServices.withdraw?.(unit, incoming);
  const refused = await push({ fields: { GIT_QUARANTINE_PATH: 'incoming-bbbbbb' } });
  t.match(refused, { status: 413, text: /this push brings 2 MB/ });
});

t.test('what is under no template is 404 without a word', async t => {
  const { push, told } = await openPushWorld(t);
  t.match(await push({ fields: { directory: '/home/ann/app.git' } }), { status: 404, text: '' });
  told.locate = locatedOf(null);
  t.match(await push({ fields: { directory: '/srv/git/x.git' } }), { status: 404, text: '' });
  told.locate = async () => {
    throw new SoftquotaError('not_ready', 'the disk does not answer');
  };
  t.match(await push({ fields: { directory: '/srv/git/x.git' } }), { status: 503 });
});

t.test('the git of each push is told to the worker, also where nothing is refused', async t => {
  const { push, worker } = await openPushWorld(t);
  const used: string[] = [];
  worker({ gitUsed: path => used.push(path) });
  t.equal((await push({ fields: { GIT_EXEC_PATH: '/opt/git/libexec/git-core' } })).status, 200);
  t.same(used, ['/opt/git/libexec/git-core']);
});

t.test('pushes that are 404 are remembered by directory, until it is a unit, or for a day', async t => {
  const { push, told, pushQuestions, walk } = await openPushWorld(t);
  const unmanaged = () => pushQuestions.unmanaged.map(({ path, count }) => [path, count]);
  const pushTo = async (directory: string, hook = 'pre-receive') => {
    await push({ fields: { directory, hook } });
  };
  await pushTo('/home/ann/app.git');
  await pushTo('/mnt/app.git');
  await pushTo('/home/ann/app.git');
  await pushTo('/home/ann/app.git', 'post-receive');
  await pushTo(unit);
  await pushTo('/srv/git/gitolite-admin.git');
  t.same(unmanaged(), [
    ['/home/ann/app.git', 2],
    ['/mnt/app.git', 1],
  ]);
  walk('/mnt/app.git', 'bob', 1);
  await pushTo('/mnt/app.git');
  t.same(unmanaged(), [['/home/ann/app.git', 2]]);
  const { locate } = told;
  told.locate = locatedOf(null);
  await pushTo('/srv/git/x.git');
  t.same(unmanaged(), [['/home/ann/app.git', 2]], 'a unit without an owner is told otherwise');
  told.locate = locate;
  for (let at = 0; at < 200; at++) await pushTo(`/mnt/${at}.git`);
  t.same([unmanaged().length, unmanaged()[0]], [200, ['/mnt/199.git', 1]]);
  const later = Date.now() + 86_400_000;
  const clock = mock.method(Date, 'now', () => later);
  t.teardown(() => clock.mock.restore());
  t.same(unmanaged(), []);
});

t.test('a path inside a unit and a new one are that unit', async t => {
  const { push, told, services } = await openPushWorld(t);
  const unitOf = async (directory: string) => {
    told.pushes.length = 0;
    await push({ fields: { directory, process: directory } });
    return told.pushes[0]?.unit.path;
  };
  for (const inside of ['/worktrees/deploy', '/refs/heads/x', '/modules/x', '/.', '//', '/../app.git']) {
    t.equal(await unitOf(`${unit}${inside}`), unit, inside);
  }
  told.locate = locatedOf('bob');
  Object.assign(services, { look: async () => ({ is: 'unreadable' }) });
  t.equal(await unitOf('/srv/git/bob/new.git'), '/srv/git/bob/new.git');
});

t.test('deleting is never refused, and counts nothing', async t => {
  const { push, walk, told } = await openPushWorld(t);
  walk(unit, 'bob', 99 * MB);
  t.match(await push({ lines: deletes('refs/heads/a', 'refs/tags/b') }), { status: 200, text: '' });
  t.match(await push({ lines: '' }), { status: 200 });
  t.same(told.pushes, []);
  t.equal((await push({ lines: deletes('refs/heads/a'), fields: { more: 'yes' } })).status, 413, 'cut');
  await push({ lines: deletes('refs/heads/a'), fields: { GIT_PUSH_CERT: 'abc' } });
  t.same(told.letThrough, [unit], 'a certificate stays');
});

t.test('the certificate of a refused push is measured at once', async t => {
  const { push, walk, told } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  await push({ fields: { GIT_PUSH_CERT: 'abc' } });
  t.same(told.measured, [unit]);
});

t.test('without a quarantine nobody knows what comes', async t => {
  const { push, walk, told } = await openPushWorld(t);
  const fields = { GIT_QUARANTINE_PATH: '' };
  t.equal((await push({ fields })).status, 200);
  t.same([told.pushes, told.measured, told.letThrough], [[], [unit], [unit]], 'nothing can be watched');
  walk(unit, 'bob', 11 * MB);
  t.equal((await push({ fields: { ...fields, process: '2' } })).status, 413);
});

t.test('a quarantine that nobody may read counts with the next walk', async t => {
  const { push, walk, told, quarantines } = await openPushWorld(t);
  quarantines.set(`${unit} ${incoming}`, 'unreadable');
  t.equal((await push()).status, 200);
  t.match(told.pushes, [{ name: incoming, quarantine: null }]);
  walk(unit, 'bob', 11 * MB);
  t.equal((await push({ fields: { process: '2' } })).status, 413);
});

t.test('a quarantine that is not there is none', async t => {
  const { push, walk, told } = await openPushWorld(t);
  const fields = { GIT_QUARANTINE_PATH: 'incoming-zzzzzz' };
  t.equal((await push({ fields })).status, 200);
  t.same([told.pushes, told.measured], [[], [unit]]);
  walk(unit, 'bob', 11 * MB);
  t.equal((await push({ fields: { ...fields, process: '2' } })).status, 413);
});

t.test('GitLab says that a push brings no object', async t => {
  const { push, walk, told } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  const fields = { ...gitlab, GIT_QUARANTINE_PATH: '', GIT_OBJECT_DIRECTORY: `${unit}/objects` };
  t.match(await push({ fields }), { status: 200, text: '' });
  t.same([told.pushes, told.measured, told.letThrough], [[], [], [unit]]);
  const refused = await push({ fields: { ...fields, GIT_OBJECT_DIRECTORY: `objects/${incoming}` } });
  t.match(refused, {
    status: 413,
    text: /^GL-HOOK-ERR: Quota exceeded: bob.*\nGL-HOOK-ERR: This repository/,
  });
});

t.test('GitLab says whose a repository is that nobody else knows', async t => {
  const { push, walk, told } = await openPushWorld(t);
  const fields = { ...gitlab, directory: '/store/@hashed/a.git', GIT_QUARANTINE_PATH: '' };
  t.equal((await push({ fields })).status, 200);
  t.same(told.pushes, []);
  walk(unit, 'bob', 11 * MB);
  t.match(await push({ fields: { ...fields, process: '2' } }), { status: 413, text: /bob uses 11 MB/ });
  t.equal((await push({ fields: { ...fields, script: 'hooks/pre-receive' } })).status, 404);
  const nothing = { ...fields, GIT_OBJECT_DIRECTORY: '/store/@hashed/a.git/objects' };
  t.equal((await push({ fields: nothing })).status, 200);
});

t.test('names with too many levels are refused to everybody, but for deleting', async t => {
  const { push, told } = await openPushWorld(t, { mode: 'report' });
  const deep = `refs/heads/${'x\x07/'.repeat(60)}y`;
  t.match(await push({ lines: creates(deep) }), {
    status: 413,
    text: /^softquota: refs\/heads\/x\\u\{7\}\/.*\.\.\. has more than 50 levels\. Names with more/,
  });
  t.equal((await push({ lines: deletes(deep) })).status, 200);
  t.same([told.refused, told.pushes], [[], []]);
});

t.test('refs that would make a repository are refused to everybody', async t => {
  const { push, names, services } = await openPushWorld(t);
  const lines = creates('refs/heads/x/HEAD', 'refs/heads/x/objects/a', 'refs/heads/x/refs/a');
  const text = 'softquota: git would take refs/heads/x for a repository of its own. Choose other names.\n';
  t.match(await push({ lines }), { status: 413, text });
  t.equal((await push({ lines: creates('refs/heads/x/HEAD') })).status, 200, 'alone it makes none');
  names.add('refs/heads/x/objects');
  t.match(
    await push({ lines: creates('refs/heads/x/HEAD', 'refs/heads/b') }),
    { status: 413, text },
    'with what is there',
  );
  t.equal((await push({ lines: deletes('refs/heads/x/HEAD') })).status, 200);
  const tooMany = creates(...Array.from({ length: 1001 }, (_, at) => `refs/heads/${at}/HEAD`));
  t.match(await push({ lines: tooMany }), { status: 413, text: /too many names/ });
  Object.assign(services, {
    existingNames: async () => {
      throw new SoftquotaError('not_ready', 'the disk does not answer');
    },
  });
  t.equal((await push({ lines: creates('refs/heads/y/HEAD') })).status, 503, 'where nobody can tell');
});

t.test('opening a pull request passes, where the forge itself pushes', async t => {
  const { push, walk, names, told } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  const fields = { GITEA_INTERNAL_PUSH: 'true', script: './hooks/pre-receive.d/00-softquota' };
  const lines = creates('refs/pull/7/head');
  t.equal((await push({ fields, lines })).status, 413, "without the forge's file");
  names.add('hooks/pre-receive.d/gitea');
  t.match(await push({ fields, lines }), { status: 200, text: '' });
  t.equal(told.pushes.length, 1, 'its bytes count');
  t.equal((await push({ fields, lines: creates('refs/pull/7/head', 'refs/heads/a') })).status, 413);
  t.equal((await push({ fields: { ...fields, script: 'hooks/pre-receive' }, lines })).status, 413);
  t.equal((await push({ fields: { ...fields, GITEA_INTERNAL_PUSH: '' }, lines })).status, 413);
  t.equal((await push({ fields: { ...fields, more: 'yes' }, lines })).status, 413, 'a list that was cut');
});

t.test("a forge's own first commit passes, if it is small", async t => {
  const { push, walk, names, brings, told } = await openPushWorld(t);
  walk(unit, 'bob', 11 * MB);
  names.add('hooks/pre-receive.d/gitea');
  const fields = { GITEA_INTERNAL_PUSH: 'true', script: './hooks/pre-receive.d/00-softquota' };
  const status = async (lines: string) => (await push({ fields, lines })).status;
  brings(5000);
  t.equal(await status(creates('refs/heads/main')), 413, 'it has refs');
  told.pushServices.hasRefs = async path => path !== unit;
  t.equal(await status(creates('refs/heads/main')), 200);
  t.equal(told.pushes.length, 1, 'its bytes count');
  t.equal(await status(updates('refs/heads/main')), 413);
  t.equal(await status(creates('refs/heads/main', 'refs/heads/b')), 413);
  t.equal((await push({ lines: creates('refs/heads/main') })).status, 413, 'of a user');
  brings(200_000);
  t.equal(await status(creates('refs/heads/main')), 413, 'a large template');
});

t.test('a few refs without objects pass over the limit, many and deep ones grow', async t => {
  const { status, walk, brings, told } = await openPushWorld(t);
  brings(1072, { sample: null });
  t.equal(await status(many(5000)), 200, 'below it all pass');
  walk(unit, 'bob', 11 * MB);
  t.equal(await status(many(100)), 200);
  t.equal(await status(many(101)), 413);
  t.equal(await status(creates(`refs/heads/${'x/'.repeat(8)}y`)), 413);
  t.equal(await status(creates(`refs/heads/${'x'.repeat(990)}`)), 413);
  t.equal(await status(updates('refs/heads/a')), 200);
  t.same(told.refused.length, 3);
});

t.test('refs without objects come to an end over the limit', async t => {
  const { status, walk, told } = await withoutObjects(t);
  for (let at = 0; at < 10; at++) t.equal(await status(many(100)), 200);
  t.equal(await status(many(1)), 413);
  t.equal(await status(updates('refs/heads/a')), 200, 'no new file');
  t.equal(await status(deletes('refs/heads/a')), 200);
  walk(unit, 'bob', MB);
  t.equal(await status(many(1)), 200, 'below the limit');
  walk(unit, 'bob', 11 * MB);
  t.equal(await status(many(100)), 200, 'and from 0 over it again');
  t.equal(told.refused.length, 1);
});

t.test('where logs of refs are kept, updates count, and all lines', async t => {
  const { status, names } = await withoutObjects(t);
  names.add('logs');
  const lines = updates(...Array.from({ length: 500 }, (_, at) => `refs/heads/${at}`));
  t.same([await status(lines), await status(lines), await status(lines)], [200, 200, 413]);
});

t.test('only questions with a quarantine count, each once', async t => {
  const { push } = await withoutObjects(t);
  for (let at = 0; at < 30; at++)
    t.equal((await push({ lines: many(100) })).status, 200, 'the same question');
  const forged = { GIT_QUARANTINE_PATH: 'incoming-qqqqqq' };
  for (let at = 0; at < 20; at++) {
    await push({ lines: many(100), fields: { ...forged, process: String(at) } });
    const own = { ...gitlab, GIT_QUARANTINE_PATH: '', GIT_OBJECT_DIRECTORY: 'objects' };
    t.equal((await push({ lines: many(100), fields: { ...own, process: String(at) } })).status, 200);
  }
  t.equal((await push({ lines: many(100), fields: { process: 'x' } })).status, 200, '200 of 1,000');
});

t.test('a limit for one kind of data does not give back the refs of another', async t => {
  const { push, status, walk, told, services } = await withoutObjects(t);
  for (let at = 0; at < 10; at++) await status(many(100));
  t.equal(await status(many(1)), 413);
  walk('/srv/git/ann/x.git', 'ann', 1);
  Object.assign(services, { look: async () => ({ is: 'unreadable' }) });
  t.equal((await push({ fields: { directory: '/srv/git/ann/x.git' } })).status, 200, 'another owner');
  t.equal(told.pushes.length > 0, true);
});

t.test('a list that was cut counts a thousand names more', async t => {
  const { push, walk } = await withoutObjects(t);
  t.equal((await push({ lines: creates('refs/heads/a'), fields: { more: 'yes' } })).status, 413);
  walk(unit, 'bob', MB);
  t.equal((await push({ lines: creates('refs/heads/b'), fields: { more: 'yes' } })).status, 200);
});

t.test('refs that bring back what is forgiven are for the worker to judge', async t => {
  const { status: anew, worker } = await withoutObjects(t, { garbage: 'forgive' });
  const status = () => anew(creates('refs/heads/main'));
  t.equal(await status(), 413, 'without a worker');
  worker({ isHere: true, ask: async () => ({ brings_back: true }) });
  t.equal(await status(), 413);
  worker({ ask: async () => ({ brings_back: false }) });
  t.equal(await status(), 200);
  worker({ ask: () => Promise.reject(new Error('the worker has stopped')) });
  t.equal(await status(), 413);
});

t.test('receive-pack asks before anything came: nothing counts', async t => {
  const { push, walk, told, worker } = await openPushWorld(t);
  let early = 0;
  worker({ askedEarly: () => early++ });
  const fields = { hook: 'receive-pack', GIT_QUARANTINE_PATH: '', LOGNAME: 'ann' };
  t.match(await push({ fields, lines: '' }), { status: 200, text: '' });
  t.same([told.pushes, told.measured, told.letThrough, told.refused], [[], [], [], []]);
  walk(unit, 'bob', 11 * MB);
  const refused = await push({ fields, lines: '' });
  t.match(refused, { status: 413, text: /^Quota exceeded: bob uses 11 MB/ });
  t.match(refused.text, 'in a push of their own', 'nobody judges before the objects are there');
  t.match(told.refused, [{ owner: 'bob', actor: 'ann' }]);
  t.equal(early, 2);
});

t.test('post-receive tells which refs were written, and is always thanked', async t => {
  const { push, arrived, worker } = await openPushWorld(t);
  const changed: string[] = [];
  worker({ changed: path => changed.push(path) });
  const fields = { hook: 'post-receive', GIT_QUARANTINE_PATH: '' };
  t.match(await push({ fields }), { status: 202, text: '' });
  t.same(arrived, [{ unit, lines: creates('refs/heads/main') }]);
  t.same(changed, [unit]);
  t.match(await push({ fields: { ...fields, directory: '/nowhere' } }), { status: 202, text: '' });
  t.equal(arrived.length, 1);
});

t.test('usage that cannot be added up is no decision, and may be asked again', async t => {
  const { push, walk } = await openPushWorld(t);
  walk('/srv/git/bob/b.git', 'bob', Number.MAX_SAFE_INTEGER);
  t.equal((await push()).status, 422);
  walk('/srv/git/bob/b.git', 'bob', 0);
  t.equal((await push()).status, 200);
});

t.test('what a push waits for is one time, and the forge is asked once about its owner', async t => {
  const { push, told, services, ledger, timing } = await openPushWorld(t);
  const unknown = '/srv/git/carol/new.git';
  const deadlines: number[] = [];
  Object.assign(services, {
    look: async (_path: string, _name: string, deadlineMs: number) => {
      deadlines.push(deadlineMs);
      return { is: 'absent' };
    },
  });
  let waitMs = 0;
  told.locate = async path => {
    timing.pass(waitMs);
    return locatedOf('carol')(path);
  };
  const fields = { directory: unknown, GIT_QUARANTINE_PATH: `${unknown}/./objects/${incoming}` };
  for (waitMs of [0, 1000]) t.match(await push({ fields }), { status: 200 });
  const [first = 0, second = 0] = deadlines;
  t.ok(second > 0 && second <= first - 900, `${first} and ${second} ms`);
  t.ok(first <= 3000);
  t.equal(ledger.units.unit(unknown), undefined);
  t.strictSame(told.settled, ['carol', 'carol']);
});
