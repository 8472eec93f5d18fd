/** Pushed authorization requests (RFC 9126), at providers that offer or require them. */

import t from 'tap';
import { Browser } from './browser.ts';
import { hostileProvider } from './hostile-provider.ts';
import { type Pushing, realProvider } from './provider.ts';
import { SignInWorld } from './world.ts';

for (const pushing of ['offered', 'required'] satisfies Pushing[]) {
  t.test(`where they are ${pushing}, the browser brings a reference alone`, async t => {
    const provider = await realProvider(t, pushing);
    const signIns = await SignInWorld.open(t, provider);
    provider.someone = { subject: 'sub-dave', claims: { preferred_username: 'dave' } };
    const asked = await new Browser().go(signIns.begin, url => url.origin === provider.issuer);
    t.same([...asked.searchParams.keys()].sort(), ['client_id', 'request_uri']);
    t.equal((await signIns.signIn()).login, 'dave');
  });
}

t.test('a client that only says its secret in the body is known as well', async t => {
  const provider = await hostileProvider(t);
  provider.lies = { discovery: pushedAt(provider.issuer), knows: 'client_secret_post' };
  const signIns = await SignInWorld.open(t, provider);
  t.equal((await signIns.signIn()).login, 'mallory');
  t.match(
    provider.pushed.map(form => form.has('client_secret')),
    [false, true],
  );
});

t.test('what is offered and does not work is done without; what is required is not', async t => {
  const provider = await hostileProvider(t);
  provider.lies = { discovery: pushedAt(provider.issuer), pushing: 'refused' };
  const signIns = await SignInWorld.open(t, provider);
  t.equal((await signIns.signIn()).login, 'mallory');
  t.equal(provider.pushed.length, 1, 'it was tried');

  const strict = await hostileProvider(t);
  strict.lies = {
    discovery: { ...pushedAt(strict.issuer), require_pushed_authorization_requests: true },
    pushing: 'refused',
  };
  const others = await SignInWorld.open(t, strict);
  t.match(await others.signIn(), { login: null, at: { search: '?fault=provider_refused' } });
  t.match(others.faults.at(-1)?.reason, 'refuses the pushed request: "invalid_request"');
  t.same(strict.asked, []);
});

function pushedAt(issuer: string) {
  return { pushed_authorization_request_endpoint: `${issuer}/pushed` };
}
