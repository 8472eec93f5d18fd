/** The body of `POST /v1/push`. */

import t from 'tap';
import { readPush } from '../../../src/gate/push/request.ts';
import { bodyOf, creates, openPushWorld, usualFields } from './world.ts';

const whole = (fields: Readonly<Record<string, string>>, lines = '') =>
  bodyOf({ ...usualFields, ...fields }, lines);

t.test('fields end with NUL, so that a value may hold anything else', async t => {
  const odd = 'a\nb=c\r\n\x1b[2J \u00e9';
  const read = readPush(whole({ GL_USER: odd, more: 'yes', NOT_KNOWN: 'x' }, 'lines\n\0\n'));
  t.match(read, { hook: 'pre-receive', isCut: true });
  t.equal(read?.fields.get('GL_USER'), odd);
  t.equal(read?.lines.toString(), 'lines\n\0\n');
});

t.test('bytes that are not UTF-8 stand as in paths', async t => {
  const body = Buffer.concat([
    Buffer.from('hook=pre-receive\0directory=/srv/'),
    Buffer.of(0xff),
    Buffer.of(0, 0),
  ]);
  t.equal(readPush(body)?.fields.get('directory'), '/srv/\udcff');
});

t.test('a fault of the hook is named', async t => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['', /empty field/],
    ['hook=pre-receive\0', /empty field/],
    ['hook=pre-receive\0directory=/srv\0', /empty field/],
    ['\0', /hook is none of pre-receive/],
    ['hook=update\0directory=/srv\0\0', /hook is none of/],
    ['hook=pre-receive\0\0', /directory/],
    ['hook=pre-receive\0directory=srv\0\0', /absolute/],
    ['hook=pre-receive\0directory=/a\0directory=/b\0\0', /directory is given more than once/],
    ['hook=pre-receive\0directory=/a\0X=1\0X=2\0\0', /X is given more than once/],
    ['hook=pre-receive\0=x\0\0', /NAME=VALUE/],
    ['hook\0\0', /NAME=VALUE/],
    [`${Array.from({ length: 201 }, (_, at) => `N${at}=\0`).join('')}\0`, /more than 200 fields/],
  ];
  for (const [body, expected] of faults) {
    t.throws(
      () => readPush(Buffer.from(body)),
      { code: 'bad_parameter', message: expected },
      body.slice(0, 60),
    );
  }
});

t.test('what a pusher can make long is refused, and is no fault', async t => {
  t.equal(readPush(whole({ LOGNAME: 'x'.repeat(65_536) })), null);
  t.equal(readPush(Buffer.from('x'.repeat(70_000))), null, 'also without an end');
  t.equal(readPush(whole({ directory: `/srv${'/deep'.repeat(1000)}` })), null);
  t.ok(readPush(whole({ LOGNAME: 'x'.repeat(60_000) })));
});

t.test('a mebibyte of lines is read, and not a byte more', async t => {
  t.equal(readPush(whole({}, 'x'.repeat(1024 * 1024)))?.lines.length, 1024 * 1024);
  t.throws(() => readPush(whole({}, 'x'.repeat(1024 * 1024 + 1))), { code: 'bad_parameter' });
});

t.test('over HTTP: no Content-Type, HTTP/1.0, always plain text', async t => {
  const { ask, push } = await openPushWorld(t);
  const { status, headers } = await push({ lines: creates('refs/heads/main') });
  t.match([status, headers['content-type']], [200, 'text/plain; charset=utf-8']);
  const bad = await ask('/v1/push', {
    method: 'POST',
    body: 'x\0\0',
    headers: { Accept: 'application/json' },
  });
  t.match(bad, { status: 400, text: /^softquota: a field is not of the form NAME=VALUE\n$/ });
  t.match(await ask('/v1/push'), { status: 405, headers: { allow: 'POST' } });
  t.match(await ask('/v1/push', { method: 'POST' }), { status: 400 });
  const long = await ask('/v1/push', { method: 'POST', body: Buffer.alloc(65_536 + 1 + 1_048_576 + 1) });
  t.match(long, { status: 400, text: /more than/ });
  const refused = await push({ fields: { LOGNAME: 'x'.repeat(65_536) } });
  t.match(refused, {
    status: 413,
    text: 'softquota: the environment of this push is too large to be checked.\n',
  });
});

t.test('the trusted socket answers the same, and both remember the same', async t => {
  const { askTrusted, push, told } = await openPushWorld(t);
  const body = bodyOf(usualFields, creates('refs/heads/main'));
  t.equal((await push()).status, 200);
  t.equal((await askTrusted('/v1/push', { method: 'POST', body })).status, 200);
  t.equal(told.pushes.length, 1);
});
