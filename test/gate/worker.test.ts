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
  t.same(told.workers, [{ ...state, hooks: { ...hooks, putBack } }]);
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
