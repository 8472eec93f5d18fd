/** Limits of what one token gives to another. */

import fc from 'fast-check';
import t from 'tap';
import { type Area, createToken, createUser, Identity, identityKinds } from '../../src/identity/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { silentLog, World } from '../ledger/world.ts';
import { make } from './session-world.ts';

async function callerOf(ledger: Ledger, name: string, scopes: readonly string[]) {
  const { token } = await make(ledger, name, { name: String(Math.random()), scopes });
  const identity = new Identity({ documents: ledger.documents, now: () => 0, log: silentLog });
  const answer = await identity.authenticate(`token ${token}`, '192.0.2.1');
  if (answer.is !== 'caller') throw new Error(answer.is);
  return answer.caller;
}

const areas: readonly Area[] = ['admin', 'user', 'organization'];
const anyScopes = fc.subarray(
  [
    'all',
    'public-only',
    'read:admin',
    'write:admin',
    'read:user',
    'write:user',
    'read:organization',
    'write:organization',
    'read:repository',
  ],
  { minLength: 1 },
);

t.test('a token never gives more than the one that made it had', async t => {
  const ledger = await new World(t, { kinds: identityKinds }).open();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(anyScopes, anyScopes, async (held, scopes) => {
      const name = `root${count++}`;
      const owner = await ledger.documents.transact(transaction =>
        createUser(transaction, { name, isAdmin: true }),
      );
      const maker = await callerOf(ledger, name, held);
      const wanted = await callerOf(ledger, name, scopes);
      const isMore = areas.some(
        area =>
          (wanted.mayRead(area) && !maker.mayRead(area)) || (wanted.mayWrite(area) && !maker.mayWrite(area)),
      );
      const made = await ledger.documents
        .transact(({ changes }) => {
          const token = { name: String(Math.random()), scopes, expiresAt: null };
          createToken(changes, owner, token, { maker, now: 0 });
        })
        .then(
          () => 'made',
          (error: { code: string }) => error.code,
        );
      return made === (isMore ? 'not_permitted' : 'made');
    }),
    { numRuns: 60 },
  );
});
