/**
 * kill -9 at random moments, while administrators change what is ruled: what was answered is there, and
 * nothing is there by half.
 */

import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Server } from '../e2e/server.ts';
import { statusWith } from '../e2e/token-status.ts';
import { isLong } from '../run-length.ts';
import { PolicyRecord } from './policy-record.ts';
import { Realm } from './realm.ts';
import { rulesOfItsOwn, type State, subjects } from './realm-steps.ts';

const kills = isLong ? 100 : 6;
const administrators = 4;
/** Fewer wrong ones than are slowed. */
const mostRevokedTried = 8;
t.setTimeout(isLong ? 3_600_000 : 240_000);

t.test(
  `killed ${kills} times while ${administrators} administrators change what is ruled, the daemon has every change that it answered, and none by half`,
  async t => {
    const server = await Server.open(t);
    const realms = await Promise.all(
      Array.from({ length: administrators }, (_, n) => Realm.begin(server, `realm-${n}`)),
    );
    const record = new PolicyRecord(t, server);
    let answered = 0;
    let unanswered = 0;

    for (let round = 0; round < kills; round++) {
      const life = { goesOn: true };
      const enough = Promise.withResolvers<void>();
      const until = answered + administrators + Math.floor(Math.random() * 20);
      const changing = realms.map(async realm => {
        for (;;) {
          const status = await realm.change();
          if (status === null) return;
          answered++;
          if (answered >= until) enough.resolve();
          if (status >= 300) t.fail(`round ${round}: a change was answered with ${status}`);
        }
      });
      const looking = lookAtGroups(t, server, life);
      await enough.promise;
      await delay(Math.random() * 30); // the moment is what is random here
      t.strictSame(await server.stop('SIGKILL'), { code: null, signal: 'SIGKILL' });
      life.goesOn = false;
      await Promise.all([...changing, looking]);
      unanswered += realms.filter(({ right }) => right.length > 1).length;

      await server.start({ ready: false });
      for (const realm of realms) {
        const { right } = realm;
        const { isRight, seen } = await realm.settle();
        if (!isRight) t.strictSame(seen, right, `round ${round}: one of these, and nothing between`);
      }
      t.strictSame(
        await record.read(),
        rulingOf(realms),
        `round ${round}: the record tells of every change, and of no other`,
      );
      await tryTokens(t, server, realms);
    }
    t.comment(`${answered} changes were answered, ${unanswered} were cut off`);
    t.ok(unanswered > 0, `${unanswered} changes were cut off`);
  },
);

/** Until the daemon is gone: whoever sees a group sees all the rules that it was created with. */
async function lookAtGroups(t: Test, server: Server, life: { readonly goesOn: boolean }): Promise<void> {
  while (life.goesOn) {
    const answer = await server.ask('admin', '/api/v1/admin/quota/groups').catch(() => null);
    if (answer === null) return;
    const groups: { name: string; rules: { name: string }[] }[] = JSON.parse(answer.text);
    for (const { name, rules } of groups) {
      const own = rules.filter(rule => rule.name.startsWith(`${name}#`));
      if (own.length !== rulesOfItsOwn) t.fail(`${name} was seen with ${own.length} of its rules`);
    }
  }
}

/** Policy of the realms, in the form that the events have. */
function rulingOf(realms: readonly Realm[]): Readonly<Record<string, unknown>> {
  const entries = realms.flatMap(({ state, organization }) => [
    ...entriesOf(state),
    [`owner ${organization}`, { name: organization, type: 'organization' }] as const,
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function entriesOf({ rules, groups, users }: State): readonly (readonly [string, object])[] {
  return [
    ...Object.entries(rules).map(([name, limit]) => [`rule ${name}`, { limit, subjects }] as const),
    ...Object.entries(groups).map(([name, named]) => [`group ${name}`, { rules: named }] as const),
    ...Object.keys(users).map(name => [`owner ${name}`, { name, type: 'user' }] as const),
  ];
}

/**
 * Tokens that are there let in whoever was shown them; those that are revoked, or whose user is gone, nobody.
 */
async function tryTokens(t: Test, server: Server, realms: readonly Realm[]): Promise<void> {
  const statusOf = (secret: string) => statusWith(server, secret, '/user/quota');
  const revoked: string[] = [];
  for (const { state, secrets } of realms) {
    const there = new Set(Object.values(state.users).flatMap(({ tokens }) => tokens));
    for (const [name, secret] of secrets) {
      if (there.has(name)) t.equal(await statusOf(secret), 200, `${name} lets in`);
      else revoked.push(secret);
    }
  }
  for (const secret of revoked.slice(-mostRevokedTried))
    t.equal(await statusOf(secret), 401, 'a revoked token');
}
