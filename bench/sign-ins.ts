/**
 * Claim: sign-ins and uses of tokens never make an administrator's change wait or be drafted again: 1,000 of
 * them a second for ten seconds beside 50 changes of policy, on one host with its own store, and with a
 * shared one.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Fleet } from '../src/fleet/index.ts';
import {
  createToken,
  createUser,
  Identity,
  identityKinds,
  localAdministrator,
} from '../src/identity/index.ts';
import { Ledger } from '../src/ledger/index.ts';
import { createRule, editRule } from '../src/policy/index.ts';
import { openRedisStore, openStore } from '../src/store/index.ts';
import { settings, silentLog } from '../test/ledger/world.ts';
import { count, type Figure, milliseconds, percentile, print, tell } from './figures.ts';
import { makeGround } from './ground.ts';
import { startRedis } from './redis.ts';

const users = 200;
const perSecond = 1000;
const forSeconds = 10;
const changes = 50;
/** Each that uses a token stands beside one that signs in. */
const everyMs = 10;
const goalMs = 50;

const figures: Figure[] = [];
await played('with the own store', null);
const redis = await startRedis(join(makeGround(), 'redis'));
await played('with a shared store', `redis://127.0.0.1:${redis.port}`);
await redis.stop();
print({
  title: 'Sign-ins beside changes of policy',
  how:
    `${count(perSecond)} uses of tokens and sign-ins a second, half of each, by ${users} users for ${forSeconds} seconds, and ` +
    `${changes} changes of policy meanwhile, each timed until it is in force.`,
  figures,
});
process.exit(0);

async function played(what: string, address: string | null): Promise<void> {
  tell(`sign-ins ${what}`);
  const store = await openStore({ file: join(makeGround(), 'softquota.db') });
  const ledger = await Ledger.open({
    ...{ store, host: 'bench', settings, kinds: identityKinds },
    ...{ foldCase: true, log: silentLog },
  });
  const fleet = address === null ? null : await joined(ledger, address);
  const { documents } = ledger;
  const identity = new Identity({ documents, now: Date.now, log: silentLog, usesEveryMs: 1000 });
  const tokens: string[] = [];
  for (let user = 0; user < users; user++) {
    const made = await documents.transact(transaction => {
      const owner = createUser(transaction, { name: `user-${user}` });
      const wanted = { name: 'token', scopes: ['all'], expiresAt: null };
      return createToken(transaction.changes, owner, wanted, { maker: localAdministrator, now: Date.now() });
    });
    tokens.push(made.token);
  }
  await documents.transact(transaction =>
    createRule(transaction.changes, { name: 'rule', limitBytes: 0, subjects: [] }),
  );

  const done = { uses: 0, signIns: 0, refused: 0 };
  const pending: Promise<void>[] = [];
  const play = async (token: string, isSignIn: boolean) => {
    const answer = isSignIn
      ? await identity.signIn({ token }, '192.0.2.1', null)
      : await identity.authenticate(`token ${token}`, '192.0.2.1');
    if (answer.is !== 'signed in' && answer.is !== 'caller') done.refused++;
    else if (isSignIn) done.signIns++;
    else done.uses++;
  };
  const times: number[] = [];
  let drafts = 0;
  const governing = (async () => {
    for (let change = 1; change <= changes; change++) {
      await delay((forSeconds * 1000) / changes);
      const began = performance.now();
      await documents.transact(transaction => {
        drafts++;
        editRule(transaction.changes, 'rule', { limitBytes: change });
      });
      times.push(performance.now() - began);
    }
  })();
  const began = performance.now();
  for (let next = 0; next < perSecond * forSeconds; ) {
    const due = Math.min((performance.now() - began) / 1000, forSeconds) * perSecond;
    for (; next < due; next++) pending.push(play(tokens[(next >> 1) % users] ?? '', next % 2 === 0));
    await delay(everyMs);
  }
  await Promise.all([governing, ...pending]);
  const p99 = percentile(times, 99);
  tell(`${what}: ${JSON.stringify(done)}, ${drafts} drafts, p99 ${milliseconds(p99)}`);
  await identity.close();
  await fleet?.close();
  await ledger.close();
  figures.push(
    {
      what: `99 % of changes of policy, ${what}`,
      ours: milliseconds(p99),
      instead: '',
      ratio: null,
      goal: {
        words: `under ${goalMs} ms`,
        met: p99 < goalMs,
        reason: `the slowest took ${milliseconds(Math.max(...times))}`,
      },
    },
    {
      what: `drafts of ${changes} changes, beside ${count(done.signIns)} sign-ins and ${count(done.uses)} uses`,
      ours: String(drafts),
      instead: '',
      ratio: null,
      goal: {
        words: 'one each',
        met: drafts === changes && done.refused === 0,
        reason: `${done.refused} sign-ins and uses were refused`,
      },
    },
  );
}

async function joined(ledger: Ledger, address: string): Promise<Fleet> {
  const shared = await openRedisStore({ address, prefix: 'bench', writer: 'bench' });
  const fleet = await Fleet.open({
    ...{ ledger, store: shared, host: 'bench', token: 'bench', version: '1' },
    ...{ log: silentLog, now: Date.now, settleMs: 0 },
  });
  fleet.start();
  return fleet;
}
