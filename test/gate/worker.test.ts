/** What the git user's worker tells of itself. */

import t from 'tap';
import { openWorld } from './world.ts';

const state = {
  version: '1.0.0',
  pid: 77,
  uid: 1000,
  hooks: {
    repositories: 3,
    unguarded: { count: 1, first: [{ path: '/srv/git/a/b.git', why: 'it is a link' }] },
    put_back: { count: 2, last: '/srv/git/a/c.git' },
  },
};

const posted = (report: unknown) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ report }),
});

t.test('a report is taken on the trusted socket only, and as it is', async t => {
  const { ask, askTrusted, told } = await openWorld(t);
  t.match(await ask('/v1/worker', posted(state)), { status: 403 });
  t.same(told.workers, []);
  t.match(await askTrusted('/v1/worker', posted(state)), { status: 202 });
  const { put_back: putBack, ...hooks } = state.hooks;
  t.same(told.workers, [{ ...state, hooks: { ...hooks, putBack }, repositories: [] }]);
  t.match(await askTrusted('/v1/worker', posted({ ...state, hooks: null })), { status: 202 });
  t.match(await askTrusted('/v1/worker', {}), { status: 405 });
});

t.test('a report that is none is refused, with what is wrong', async t => {
  const { askTrusted, told } = await openWorld(t);
  const wrong = (report: unknown) => askTrusted('/v1/worker', posted(report));
  t.match(await wrong({ ...state, pid: -1 }), { status: 400, text: /report\.pid/ });
  t.match(await wrong({ version: 'x' }), { status: 400, text: /report\.pid/ });
  t.match(await wrong('text'), { status: 400, text: /report/ });
  const many = Array.from({ length: 101 }, () => ({ path: '/a', why: 'b' }));
  const hooks = { ...state.hooks, unguarded: { count: 101, first: many } };
  t.match(await wrong({ ...state, hooks }), { status: 400, text: /report\.hooks\.unguarded\.first/ });
  t.same(told.workers, []);
});

t.test('what the worker has to know of LFS objects is said on the trusted socket only', async t => {
  const { ask, askTrusted } = await openWorld(t);
  t.match(await ask('/v1/worker/lfs?path=/srv/git/a/b.git'), { status: 403 });
  const { status, text } = await askTrusted('/v1/worker/lfs?path=/srv/git/a/b.git');
  t.equal(status, 200);
  t.same(JSON.parse(text), { objects: [{ oid: 'f'.repeat(64), bytes: 5 }] });
  t.same(JSON.parse((await askTrusted('/v1/worker/lfs?path=/srv/git/a/c.git')).text), { objects: null });
  t.match(await askTrusted('/v1/worker/lfs'), { status: 400, text: /path/ });
});

const figures = {
  path: '/srv/git/a/b.git',
  at: 5,
  measured: { object_bytes: 10, reachable_bytes: 7, unreachable_bytes: 3 },
  fault: null,
  collected: { at: 4, freed_bytes: -2, fault: null },
};

t.test('figures of repositories are taken, and the answer names the start of the daemon', async t => {
  const { askTrusted, told } = await openWorld(t);
  const { status, text } = await askTrusted('/v1/worker', posted({ ...state, repositories: [figures] }));
  t.equal(status, 202);
  t.same(JSON.parse(text), { daemon: 'this start' });
  t.match(told.workers[0]?.repositories, [
    {
      path: figures.path,
      measured: { objectBytes: 10, reachableBytes: 7, unreachableBytes: 3 },
      collected: { at: 4, freedBytes: -2, fault: null },
    },
  ]);
  const wrong = { ...figures, measured: { ...figures.measured, reachable_bytes: -1 } };
  t.match(await askTrusted('/v1/worker', posted({ ...state, repositories: [wrong] })), {
    status: 400,
    text: /report\.repositories\.0\.measured\.reachable_bytes/,
  });
  const many = Array.from({ length: 501 }, () => ({ ...figures, measured: null, collected: null }));
  t.equal((await askTrusted('/v1/worker', posted({ ...state, repositories: many }))).status, 400);
});

t.test('tasks are given and results taken on the trusted socket only', async t => {
  const { ask, askTrusted } = await openWorld(t);
  t.match(await ask('/v1/worker/tasks'), { status: 403 });
  const { status, text } = await askTrusted('/v1/worker/tasks?wait=1');
  t.equal(status, 200);
  t.same(JSON.parse(text), { pushed: ['/srv/git/a/b.git'], asked: [], mark: '' });
  for (const wait of ['26', '-1', 'x']) {
    t.match(await askTrusted(`/v1/worker/tasks?wait=${wait}`), {
      status: 400,
      text: /wait: expected seconds/,
    });
  }
  const result = (id: string, outcome: unknown) => ({
    ...posted(null),
    body: JSON.stringify({ id, outcome }),
  });
  t.match(await ask('/v1/worker/results', result('known', { result: {} })), { status: 403 });
  t.match(await askTrusted('/v1/worker/results', result('known', { result: { a: [1] } })), { status: 202 });
  t.match(await askTrusted('/v1/worker/results', result('other', { fault: 'x' })), { status: 404 });
  t.match(await askTrusted('/v1/worker/results', result('known', 5)), { status: 400, text: /outcome/ });
  t.match(await askTrusted('/v1/worker/results', result('known', { result: 5 })), { status: 400 });
});
