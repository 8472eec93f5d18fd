/** `/v1/check`: what it answers to whom, and what it takes for a question. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { asText, form, json, locatedOf, openWorld } from './world.ts';

const GB = 1_000_000_000;

t.test('an owner below the limit may go on', async t => {
  const { ask, walk } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 5 * GB);
  const { status, headers, text } = await ask('/v1/check?owner=alice&subject=size:repos:private');
  t.equal(status, 200);
  t.match(headers, { 'x-softquota-decision': 'allowed', 'content-type': 'application/json' });
  t.strictSame(JSON.parse(text), {
    allowed: true,
    owner: 'alice',
    subject: 'size:repos:private',
    used: 5 * GB,
    limit: 10 * GB,
    group: null,
    rule: null,
    per: 'owner',
    measured_at: '2026-11-21T09:14:03.000Z',
    partial: true,
    stale: false,
    mode: 'enforce',
    message: 'alice uses 5 GB of 10 GB (50 %).',
    warning: null,
  });
});

t.test('an owner over the limit is refused, with the reason and for the record', async t => {
  const { ask, walk, told, ledger } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 12.4 * GB);
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
  const path = '/v1/check?path=/srv/git/alice/app.git&actor=bob';
  const { status, headers, text } = await ask(path);
  t.equal(status, 413);
  t.equal(headers['x-softquota-decision'], 'refused');
  t.match(JSON.parse(text), {
    allowed: false,
    subject: 'size:repos:private',
    used: 12.4 * GB,
    limit: 10 * GB,
    partial: false,
    message: 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).',
  });
  t.match(told.refused, [{ owner: 'alice', actor: 'bob', subject: 'size:repos:private', mode: 'enforce' }]);
});

t.test('a pusher reads who, how much, of what, and what helps', async t => {
  const { ask, walk, told } = await openWorld(t);
  told.contact = 'https://git.example/quota';
  walk('/srv/git/alice/app.git', 'alice', 8.1 * GB);
  walk('/srv/git/alice/secret-project.git', 'alice', 4.3 * GB);
  const { status, headers, text } = await ask('/v1/check?path=/srv/git/alice/app.git', asText);
  t.equal(status, 413);
  t.match(headers['content-type'], 'text/plain');
  t.equal(
    text,
    [
      'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).',
      'This repository: 8.1 GB. Nothing from this push was stored. You can still',
      'delete branches and tags, in a push of their own; this frees space at the',
      "server's next garbage collection. Ask the administrator when that is.",
      'To ask for more space: https://git.example/quota',
      '',
    ].join('\n'),
  );
  const upload = await ask('/v1/check?owner=alice&subject=size:git:lfs', asText);
  t.match(
    upload.text,
    /Nothing from this upload was stored\. You can still delete data to free\nspace\.\nTo ask/,
  );
  told.contact = 'Write to the admins.';
  const words = await ask('/v1/check?owner=alice&subject=size:git:lfs', asText);
  t.match(words.text, /free\nspace\.\nWrite to the admins\.\n$/);
});

t.test('above a threshold the pusher is warned, below it reads nothing', async t => {
  const { ask, walk } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 9.2 * GB);
  walk('/srv/git/bob/app.git', 'bob', 1);
  const question = (owner: string) => `/v1/check?owner=${owner}&subject=size:git:lfs`;
  const warned = 'Quota warning: alice uses 9.2 GB of 10 GB (92 %).';
  t.equal((await ask(question('alice'), asText)).text, `${warned}\n`);
  t.equal(JSON.parse((await ask(question('alice'))).text).warning, warned);
  t.equal((await ask(question('bob'), asText)).text, '');
});

t.test('report mode lets everybody through in silence, and tells who would be refused', async t => {
  const { ask, walk, told } = await openWorld(t, { mode: 'report' });
  walk('/srv/git/alice/app.git', 'alice', 11 * GB);
  walk('/srv/git/bob/app.git', 'bob', 9.5 * GB);
  const { status, headers, text } = await ask('/v1/check?owner=alice&subject=size:git:lfs');
  t.match([status, headers['x-softquota-decision']], [200, 'allowed']);
  t.match(JSON.parse(text), {
    allowed: true,
    would_refuse: true,
    mode: 'report',
    message: /^Quota exceeded/,
  });
  t.match(told.refused, [{ owner: 'alice', mode: 'report' }]);
  for (const owner of ['alice', 'bob']) {
    t.match(await ask(`/v1/check?owner=${owner}&subject=size:all`, asText), { status: 200, text: '' });
  }
});

t.test('at limit 0 nothing may be stored, and deleting is not said to help', async t => {
  const { ask, told } = await openWorld(t, { totalBytes: 0 });
  const { status, text } = await ask('/v1/check?owner=nobody-yet&subject=size:git:lfs', asText);
  t.equal(status, 413);
  const next = 'Nothing from this upload was stored. To ask for space, turn to the\nadministrator.\n';
  t.equal(text, `Quota is 0: nobody-yet may not store anything.\n${next}`);
  told.contact = 'https://git.example/quota';
  const { text: known } = await ask('/v1/check?owner=nobody-yet&subject=size:git:lfs', asText);
  t.match(known, /To ask for more space: https:/);
  t.notMatch(known, /turn to the/);
});

t.test('an owner never heard of uses nothing, and asking creates nobody', async t => {
  const { ask, ledger } = await openWorld(t);
  const { status, text } = await ask('/v1/check?owner=Newcomer&subject=size:all');
  t.equal(status, 200);
  t.match(JSON.parse(text), { owner: 'Newcomer', used: 0, measured_at: null, partial: true });
  t.strictSame([...ledger.owners()], []);
});

t.test('what is let through by path is told, also what is not there yet, and nothing else', async t => {
  const { ask, walk, told, ledger } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 5 * GB);
  walk('/srv/git/bob/app.git', 'bob', 12 * GB);
  const checked = (path: string) => ask(`/v1/check?path=${path}`);
  t.equal((await checked('/srv/git/alice/app.git/objects')).status, 200);
  t.strictSame(told.letThrough, ['/srv/git/alice/app.git']);
  told.locate = locatedOf('alice', { exists: false });
  t.equal((await checked('/srv/git/alice/new.git')).status, 200);
  t.strictSame(told.letThrough.splice(0), ['/srv/git/alice/app.git', '/srv/git/alice/new.git']);
  t.equal((await checked('/srv/git/bob/app.git')).status, 413);
  t.equal((await ask('/v1/check?owner=alice&subject=size:repos:private')).status, 200);
  t.strictSame(told.letThrough, [], 'what is refused, or asked about by owner');
  ledger.settings = { ...ledger.settings, mode: 'report' };
  t.equal((await checked('/srv/git/bob/app.git')).status, 200);
  t.strictSame(told.letThrough, ['/srv/git/bob/app.git'], 'nobody is refused in report mode');
});

t.test('PRECISE counts the size that is about to come', async t => {
  const { ask, walk } = await openWorld(t, { precise: true });
  walk('/srv/git/alice/app.git', 'alice', 9 * GB);
  const status = async (size: string) =>
    (await ask(`/v1/check?owner=alice&subject=size:all&size=${size}`)).status;
  t.equal(await status(String(GB)), 200);
  t.equal(await status(String(GB + 1)), 413);
  t.equal(await status(''), 200, 'empty is as good as missing');
});

t.test('parameters come in the query, as a form and as JSON; the body goes before the query', async t => {
  const { ask, walk } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 1);
  walk('/srv/git/bob/app.git', 'bob', 2);
  const owner = async (path: string, asked = {}) => JSON.parse((await ask(path, asked)).text).owner;
  const fields = { owner: 'alice', subject: 'size:all' };
  t.equal(await owner('/v1/check?owner=bob&subject=size:all'), 'bob');
  t.equal(await owner('/v1/check', form(fields)), 'alice');
  t.equal(await owner('/v1/check', json(fields)), 'alice');
  t.equal(await owner('/v1/check?owner=bob', form(fields)), 'alice');
  t.equal(await owner('/v1/check?owner=bob', json(fields)), 'alice');
  t.equal(await owner('/v1/check?owner=bob&subject=size:all', json({})), 'bob');
  t.equal(
    await owner('/v1/check?owner=bob&subject=size:all', { method: 'POST' }),
    'bob',
    'a POST without a body',
  );
  t.equal(await owner('/v1/check?owner=bob', { ...form(fields), method: 'GET' }), 'alice', 'a GET with one');
  t.equal(
    await owner('/v1/check?path=/srv/git/alice/app.git/refs/heads&owner=bob'),
    'alice',
    'path before owner',
  );
  t.equal(await owner('/v1/check?path=&owner=bob&subject=size:all'), 'bob', 'an empty path is none');
});

t.test('a path is percent-decoded, whatever bytes it has, and normalized', async t => {
  const { ask, walk } = await openWorld(t);
  walk('/srv/git/alice/\udcff \u00e9+.git', 'alice', 1);
  const status = async (path: string) => (await ask(`/v1/check?path=${path}`)).status;
  t.equal(await status('/srv/git/alice/%FF+%C3%A9%2b.git'), 200);
  t.equal(await status('//srv/./git/x/../alice/%ff%20%c3%a9%2B.git//'), 200);
  t.equal(await status('/srv/git/alice/%FF+e%CC%81%2b.git'), 404, 'paths are bytes, and not folded together');
});

t.test('a HEAD is a GET without its body, and another method is told which there are', async t => {
  const { ask } = await openWorld(t);
  const head = await ask('/v1/check?owner=alice&subject=size:all', { method: 'HEAD' });
  const get = await ask('/v1/check?owner=alice&subject=size:all');
  t.match(head, { status: 200, text: '', headers: { 'x-softquota-decision': 'allowed' } });
  t.equal(head.headers['content-length'], get.headers['content-length']);
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const { status, headers } = await ask('/v1/check?owner=alice&subject=size:all', { method });
    t.match([status, headers.allow, headers['x-softquota-decision']], [405, 'GET, HEAD, POST', undefined]);
  }
  t.match(await ask('/v1/changed?path=/x'), { status: 405, headers: { allow: 'POST' } });
});

t.test('lines for a person are only for who wants nothing else', async t => {
  const { ask } = await openWorld(t);
  const type = async (accept: string) =>
    (await ask('/v1/check?owner=alice&subject=size:all', { headers: { Accept: accept } })).headers[
      'content-type'
    ];
  t.match(await type('text/plain'), /^text\/plain/);
  t.match(await type('text/plain, */*;q=0.1'), /^text\/plain/);
  t.equal(await type('*/*'), 'application/json');
  t.equal(await type('application/json, text/plain, */*'), 'application/json', 'as common clients send it');
});

t.test('an unknown path is looked up; one that belongs nowhere is 404 without a decision', async t => {
  const { ask, told } = await openWorld(t);
  const nowhere = await ask('/v1/check?path=/etc/passwd');
  t.match(nowhere, { status: 404, headers: { 'x-softquota-decision': undefined } });
  t.match(JSON.parse(nowhere.text), { code: 'unknown_path' });
  told.locate = locatedOf('carol', { leaf: 'size:assets:wiki', exists: false });
  const found = await ask('/v1/check?path=/srv/git/carol/new.git');
  t.match(JSON.parse(found.text), { owner: 'carol', subject: 'size:assets:wiki', used: 0 });
  told.locate = locatedOf(null);
  t.match(JSON.parse((await ask('/v1/check?path=/srv/git/x.git')).text), { code: 'no_owner' });
  told.locate = async path => {
    throw new SoftquotaError('not_ready', `${path} could not be looked up in time`);
  };
  t.match(await ask('/v1/check?path=/srv/git/x.git'), {
    status: 503,
    headers: { 'x-softquota-decision': undefined },
  });
});

t.test('a mistake of softquota is 500 without a decision, and only the log hears what it was', async t => {
  const { ask, told } = await openWorld(t);
  told.locate = async () => {
    throw new TypeError('secret of the house');
  };
  const { status, headers, text } = await ask('/v1/check?path=/srv/git/x.git');
  t.match([status, headers['x-softquota-decision']], [500, undefined]);
  t.notMatch(text, 'secret');
  t.match(told.unforeseen, [{ message: 'secret of the house' }]);
});

t.test('usage that cannot be added up is no decision', async t => {
  const { ask, walk } = await openWorld(t);
  walk('/srv/git/alice/a.git', 'alice', Number.MAX_SAFE_INTEGER);
  walk('/srv/git/alice/b.git', 'alice', 1);
  const { status, headers } = await ask('/v1/check?owner=alice&subject=size:all');
  t.match([status, headers['x-softquota-decision']], [422, undefined]);
});

t.test('a check of an unknown path asks who has the name of its owner in the forge', async t => {
  const { ask, told } = await openWorld(t);
  told.locate = locatedOf('carol');
  t.equal((await ask('/v1/check?path=/srv/git/carol/new.git')).status, 200);
  t.strictSame(told.settled, ['carol']);
});
