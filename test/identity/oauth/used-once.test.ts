import t from 'tap';
import { secretKeysOf } from '../../../src/identity/index.ts';
import {
  begunSeconds,
  type PendingLogin,
  PendingSignIns,
  usedOnce,
} from '../../../src/identity/oauth/pending-sign-ins.ts';
import { mergedClaims } from '../../../src/identity/oauth/providers.ts';

const at = Date.parse('2026-11-21T09:00:00Z');
const keys = secretKeysOf(['k'.repeat(32)]);

function begunWith(state: string): PendingLogin {
  return {
    state,
    nonce: 'n',
    verifier: 'a-verifier',
    sourceId: '1',
    issuer: 'https://i.example',
    returnTo: '/',
    at,
  };
}

/** Cookies that a browser sends back for `Set-Cookie` headers. */
function sent(headers: readonly string[]): string {
  return headers.map(header => header.replace(/;.*/, '')).join('; ');
}

t.test('what was begun is found by its state for ten minutes, by who holds the cookie', async t => {
  const cookies = new PendingSignIns(keys, 'http://127.0.0.1:3080/');
  const header = sent(cookies.begin(undefined, begunWith('s1')));
  t.match(cookies.find(header, 's1', at), begunWith('s1'));
  t.match(cookies.find(`a=b; ${header}; c`, 's1', at + begunSeconds * 1000 - 1), { state: 's1' });
  t.equal(cookies.find(header, 's1', at + begunSeconds * 1000), null);
  t.equal(cookies.find(header, 's2', at), null);
  t.equal(cookies.find(undefined, 's1', at), null);
  t.equal(
    new PendingSignIns(secretKeysOf(['l'.repeat(32)]), 'http://127.0.0.1:3080/').find(header, 's1', at),
    null,
  );
  t.notMatch(header, /a-verifier/, 'and shows nothing of it');
});

t.test('the cookie is for its own addresses alone, and over https where the pages are', async t => {
  const [plain = ''] = new PendingSignIns(keys, 'http://127.0.0.1:3080/').begin(undefined, begunWith('s'));
  t.match(plain, /; Max-Age=600; Path=\/sign-in\/oauth2\/; HttpOnly; SameSite=Lax$/);
  const [secure = ''] = new PendingSignIns(keys, 'https://git.example/quota/').begin(
    undefined,
    begunWith('s'),
  );
  t.match(secure, /^softquota-sign-in-.*; Path=\/quota\/sign-in\/oauth2\/; HttpOnly; SameSite=Lax; Secure$/);
  const whole = new PendingSignIns(keys, 'https://git.example/');
  const [ofHost = ''] = whole.begin(undefined, begunWith('s'));
  t.match(ofHost, /^__Host-softquota-sign-in-.*; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  t.match(whole.find(sent([ofHost]), 's', at), { state: 's' });
  const planted = sent([ofHost]).replace('__Host-', '');
  t.equal(whole.find(planted, 's', at), null, 'and none that another host of the domain may have set');
});

t.test('a browser keeps eight at most, and gives up the oldest', async t => {
  const cookies = new PendingSignIns(keys, 'http://127.0.0.1:3080/');
  const eight = Array.from({ length: 8 }, (_, index) =>
    sent(cookies.begin(undefined, begunWith(`s${index}`))),
  );
  const [made, ended, ...more] = cookies.begin(eight.join('; '), begunWith('new'));
  t.match(made, /Max-Age=600/);
  t.match(ended, /=; Max-Age=0/);
  t.equal(ended?.split('=')[0], eight[0]?.split('=')[0]);
  t.same(more, []);
});

t.test('a state is good once, until it is forgotten together with its cookie', async t => {
  const use = usedOnce(1000);
  t.ok(use('a', 0));
  t.notOk(use('a', 999));
  t.ok(use('b', 1000));
  t.ok(use('a', 1000));
});

t.test('userinfo goes before the ID token; a claim is elsewhere if either says so', async t => {
  t.same(mergedClaims({ a: 1, b: 1 }, { b: 2 }), { a: 1, b: 2 });
  const marked = (first: unknown, second: unknown) =>
    mergedClaims(
      first === undefined ? {} : { _claim_names: first },
      second === undefined ? {} : { _claim_names: second },
    );
  t.same(marked({ groups: 'x' }, undefined), { _claim_names: { groups: 'x' } });
  t.same(marked({ groups: 'x' }, { roles: 'y' }), { _claim_names: { groups: 'x', roles: 'y' } });
  t.same(marked('strange', { roles: 'y' }), { _claim_names: 'strange' });
  t.same(marked({ roles: 'y' }, 'strange'), { _claim_names: 'strange' });
});
