/** Users, members, tokens and sessions: any sequence of changes beside a model of plain lists. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Transaction } from '../../src/documents/index.ts';
import { SoftquotaError } from '../../src/errors.ts';
import {
  createToken,
  createUser,
  deleteUser,
  editUser,
  Identity,
  identityKinds,
  membersOf,
  profileOf,
  type Role,
  removeMember,
  revokeToken,
  roles,
  setMember,
  startSession,
  type Via,
} from '../../src/identity/index.ts';
import { entriesOf } from '../../src/identity/tokens.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { assign, assignedGroups, createGroup } from '../../src/policy/index.ts';
import { openOn, silentLog, walk } from '../ledger/world.ts';
import { isLong } from '../run-length.ts';
import { emptyModel, storeOn } from '../store/model.ts';
import { unlimitedMaker } from './session-world.ts';

interface Owner {
  name: string;
  type: 'user' | 'organization';
  /** An administrator has created or changed it. */
  isLaidDown: boolean;
  email: string;
  isAdmin: boolean;
  groups: string[];
  tokens: { name: string; secret: string }[];
  /** With the token that each was started with; null: a link. */
  sessions: { value: string; token: string | null }[];
  members: { user: Owner; role: Role }[];
}

interface Model {
  /** By key. */
  owners: Map<string, Owner>;
  /** The keys of those who have something on the disk. */
  units: Set<string>;
  /** All that were ever made. */
  secrets: string[];
  /** All that browsers ever held. */
  held: string[];
}

interface Step {
  /** Gives the token that was made, or what a browser holds, if there is such. */
  readonly does: (ledger: Ledger) => Promise<unknown>;
  /** Does it on the model; gives the code of the fault where it is one, and then nothing is changed. */
  readonly means: (model: Model, made: unknown) => string | undefined;
}

function changing<Result>(change: (transaction: Transaction) => Result): (ledger: Ledger) => Promise<Result> {
  return ledger => ledger.documents.transact(change);
}

const keyOf = (name: string) => name.toLowerCase();

function found(name: string): Owner {
  const nothing = { groups: [], tokens: [], sessions: [], members: [] };
  return { name, type: 'user', isLaidDown: false, email: '', isAdmin: false, ...nothing };
}

function organizationsOf({ owners }: Model, user: Owner): readonly Owner[] {
  return [...owners.values()].filter(({ members }) => members.some(member => member.user === user));
}

function isOnlyFound(model: Model, owner: Owner): boolean {
  const { isLaidDown, groups, tokens, sessions } = owner;
  const has = [groups, tokens, sessions, organizationsOf(model, owner)];
  return !isLaidDown && has.every(({ length }) => length === 0);
}

function isFaulty({ type, email, isAdmin }: Pick<Owner, 'type' | 'email' | 'isAdmin'>): boolean {
  return email === 'no address' || (isAdmin && type === 'organization');
}

const anyName = fc.constantFrom('a', 'A', 'b', 'c');
/** Most of the time one is. */
const anyOrganization = fc.constantFrom('c', 'c', 'c', 'a');
const anyUser = fc.constantFrom('a', 'b', 'b', 'c');
const anyToken = fc.constantFrom('one', '__proto__');
const anyFields = {
  type: fc.constantFrom('user' as const, 'user' as const, 'organization' as const),
  email: fc.constantFrom('', 'a@git.example', 'no address'),
  isAdmin: fc.boolean(),
};

const step = {
  create: fc.tuple(anyName, fc.record(anyFields)).map(
    ([name, fields]): Step => ({
      does: changing(transaction => createUser(transaction, { name, ...fields })),
      means: ({ owners }) => {
        if (owners.has(keyOf(name))) return 'conflict';
        if (isFaulty(fields)) return 'invalid';
        owners.set(keyOf(name), { ...found(name), isLaidDown: true, ...fields });
      },
    }),
  ),
  edit: fc.tuple(anyName, fc.record({ ...anyFields, name: anyName }, { requiredKeys: [] })).map(
    ([name, edit]): Step => ({
      does: changing(transaction => editUser(transaction, name, edit)),
      means: model => {
        const owner = model.owners.get(keyOf(name));
        if (owner === undefined) return 'not_found';
        const changed = { ...owner, ...edit };
        if (isFaulty(changed)) return 'invalid';
        if (changed.type !== owner.type) {
          const { members, tokens } = owner;
          const inTheWay = changed.type === 'user' ? members : [...tokens, ...organizationsOf(model, owner)];
          if (inTheWay.length > 0) return 'conflict';
        }
        const sessions = changed.type === owner.type ? owner.sessions : [];
        const other = model.owners.get(keyOf(changed.name));
        if (other !== undefined && other !== owner && !isOnlyFound(model, other)) return 'conflict';
        const before = keyOf(owner.name);
        model.owners.delete(before);
        // Units on the disk keep the owner that the disk names.
        if (model.units.has(before)) model.owners.set(before, found(owner.name));
        model.owners.set(keyOf(changed.name), Object.assign(owner, edit, { isLaidDown: true, sessions }));
      },
    }),
  ),
  delete: anyName.map(
    (name): Step => ({
      does: changing(transaction => deleteUser(transaction, name)),
      means: ({ owners, units }) => {
        const owner = owners.get(keyOf(name));
        if (owner === undefined) return 'not_found';
        if (units.has(keyOf(name))) return 'conflict';
        owners.delete(keyOf(name));
        for (const each of owners.values()) each.members = each.members.filter(({ user }) => user !== owner);
      },
    }),
  ),
  walk: anyName.map(
    (name): Step => ({
      does: async ledger => void walk(ledger, `${name}/app`, 1),
      means: ({ owners, units }) => {
        units.add(keyOf(name));
        if (!owners.has(keyOf(name))) owners.set(keyOf(name), found(name));
      },
    }),
  ),
  assign: anyName.map(
    (name): Step => ({
      does: changing(transaction => assign(transaction.changes, transaction.mustBeOwner(name).id, 'free')),
      means: ({ owners }) => {
        const owner = owners.get(keyOf(name));
        if (owner === undefined) return 'not_found';
        if (owner.groups.length > 0) return 'already_in';
        owner.groups.push('free');
      },
    }),
  ),
  setMember: fc.tuple(anyOrganization, anyUser, fc.constantFrom(...roles)).map(
    ([organization, name, role]): Step => ({
      does: changing(transaction =>
        setMember(
          transaction.changes,
          transaction.mustBeOwner(organization),
          transaction.mustBeOwner(name),
          role,
        ),
      ),
      means: ({ owners }) => {
        const [of, user] = [owners.get(keyOf(organization)), owners.get(keyOf(name))];
        if (of?.type !== 'organization' || user === undefined) return 'not_found';
        if (user.type !== 'user') return 'invalid';
        const member = of.members.find(each => each.user === user);
        if (member === undefined) of.members.push({ user, role });
        else member.role = role;
      },
    }),
  ),
  removeMember: fc.tuple(anyOrganization, anyUser).map(
    ([organization, name]): Step => ({
      does: changing(transaction =>
        removeMember(
          transaction.changes,
          transaction.mustBeOwner(organization),
          transaction.mustBeOwner(name),
        ),
      ),
      means: ({ owners }) => {
        const [of, user] = [owners.get(keyOf(organization)), owners.get(keyOf(name))];
        if (of?.type !== 'organization' || user === undefined) return 'not_found';
        if (!of.members.some(each => each.user === user)) return 'already_out';
        of.members = of.members.filter(each => each.user !== user);
      },
    }),
  ),
  createToken: fc.tuple(anyName, anyToken).map(
    ([name, token]): Step => ({
      does: changing(transaction => {
        const wanted = { name: token, scopes: ['all'], expiresAt: null };
        const by = { maker: unlimitedMaker, now: Date.now() };
        return createToken(transaction.changes, transaction.mustBeOwner(name), wanted, by).token;
      }),
      means: ({ owners, secrets }, made) => {
        const owner = owners.get(keyOf(name));
        if (owner === undefined) return 'not_found';
        if (owner.tokens.some(each => each.name === token)) return 'conflict';
        if (owner.type !== 'user') return 'invalid';
        owner.tokens.push({ name: token, secret: String(made) });
        secrets.push(String(made));
      },
    }),
  ),
  revokeToken: fc.tuple(anyName, anyToken).map(
    ([name, token]): Step => ({
      does: changing(
        transaction => void revokeToken(transaction.changes, transaction.mustBeOwner(name), token),
      ),
      means: ({ owners }) => {
        const owner = owners.get(keyOf(name));
        if (!owner?.tokens.some(each => each.name === token)) return 'not_found';
        owner.tokens = owner.tokens.filter(each => each.name !== token);
        owner.sessions = owner.sessions.filter(each => each.token !== token);
      },
    }),
  ),
  signIn: fc.tuple(anyName, anyToken).map(
    ([name, token]): Step => ({
      does: changing(transaction => {
        const { changes } = transaction;
        const owner = transaction.mustBeOwner(name);
        const found = entriesOf(changes, owner.id).find(([, each]) => each.name === token);
        const via: Via = found === undefined ? { is: 'link' } : { is: 'token', tokenKey: found[0] };
        return startSession(changes, owner, { via, scopes: ['all'], endsAt: null }, Date.now()).value;
      }),
      means: ({ owners, held }, made) => {
        const owner = owners.get(keyOf(name));
        if (owner === undefined) return 'not_found';
        if (owner.type !== 'user') return 'invalid';
        const isByToken = owner.tokens.some(each => each.name === token);
        owner.sessions.push({ value: String(made), token: isByToken ? token : null });
        held.push(String(made));
      },
    }),
  ),
};

/** Weights of the steps, so that there is something that the rarer ones can be done to. */
const weights: Readonly<Partial<Record<keyof typeof step, number>>> = {
  setMember: 4,
  createToken: 3,
  signIn: 2,
  edit: 2,
};

const anyStep = fc.oneof(
  ...Object.entries(step).map(([name, arbitrary]) => ({
    weight: new Map(Object.entries(weights)).get(name) ?? 1,
    arbitrary: arbitrary.map(each => ({ name, ...each })),
  })),
);

/** Somebody who was only found, a user, and an organization. */
async function begin(ledger: Ledger): Promise<Model> {
  await ledger.documents.transact(transaction => {
    createGroup(transaction.changes, { name: 'free', rules: [] });
    createUser(transaction, { name: 'b' });
    createUser(transaction, { name: 'c', type: 'organization' });
  });
  walk(ledger, 'a/app', 1);
  const owners = new Map([
    ['a', found('a')],
    ['b', { ...found('b'), isLaidDown: true }],
    ['c', { ...found('c'), isLaidDown: true, type: 'organization' as const }],
  ]);
  return { owners, units: new Set(['a']), secrets: [], held: [] };
}

/** All that a ledger knows, in the words of the model. */
async function seen(ledger: Ledger, { secrets, held }: Model): Promise<unknown> {
  const { snapshot, owners: known } = ledger.documents;
  const identity = new Identity({
    documents: ledger.documents,
    now: Date.now,
    log: silentLog,
    limits: patient,
  });
  const nameOf = (id: number) => known.byId(id)?.name;
  const owners = [...known.all].map(({ id, key, name, type }) => {
    const { email, isAdmin } = profileOf(snapshot, id);
    const members = membersOf(snapshot, id).map(({ user, role }) => [nameOf(user), role]);
    const tokens = new Set(identity.tokensOf(id).map(token => token.name));
    return [key, { name, type, email, isAdmin, groups: assignedGroups(snapshot, id), members, tokens }];
  });
  const answers = [
    ...secrets.map(secret => identity.authenticate(`token ${secret}`, '192.0.2.1')),
    ...held.map(value => identity.authenticateSession(value)),
  ];
  const lets = (await Promise.all(answers)).map(answer =>
    answer.is === 'caller' ? [answer.caller.name, answer.caller.isAdmin] : answer.is,
  );
  const kept = identityKinds.map(kind => [...snapshot.all(kind)].length);
  return { owners: Object.fromEntries(owners), lets, kept };
}

function expected({ owners, secrets, held }: Model): unknown {
  const all = [...owners].map(([key, { name, type, email, isAdmin, groups, ...owner }]) => {
    const members = owner.members.map(({ user, role }) => [user.name, role]);
    const tokens = new Set(owner.tokens.map(token => token.name));
    return [key, { name, type, email, isAdmin, groups, members, tokens }];
  });
  const byWhat = (has: (owner: Owner) => boolean) => {
    const owner = [...owners.values()].find(has);
    return owner === undefined ? 'refused' : [owner.name, owner.isAdmin];
  };
  const lets = [
    ...secrets.map(secret => byWhat(({ tokens }) => tokens.some(each => each.secret === secret))),
    ...held.map(value => byWhat(({ sessions }) => sessions.some(each => each.value === value))),
  ];
  const documents = [...owners.values()].map(({ isLaidDown, members, tokens, sessions }) => [
    Number(isLaidDown),
    Math.min(members.length, 1),
    tokens.length,
    sessions.length,
    0, // the last uses are not written meanwhile
    0, // nobody signs in by a provider here, so nobody is linked
    0, // and there is no source
    0, // nobody unsubscribes from mails
  ]);
  const kept = [0, 1, 2, 3, 4, 5, 6, 7].map(kind =>
    documents.reduce((sum, each) => sum + (each[kind] ?? 0), 0),
  );
  return { owners: Object.fromEntries(all), lets, kept };
}

const patient = { wrongTries: 1_000_000, perSeconds: 1 };

t.test('any sequence of changes gives what plain lists would, kept and read again', async t => {
  const done = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 10, maxLength: 50, size: 'max' }), async steps => {
      const store = storeOn(emptyModel());
      const ledger = await openOn(store, { kinds: identityKinds });
      const model = await begin(ledger);
      for (const { name, does, means } of steps) {
        let fault: string | undefined;
        const made = await does(ledger).catch((error: unknown) => {
          assert.ok(error instanceof SoftquotaError, String(error));
          fault = error.code;
        });
        assert.equal(fault, means(model, made));
        if (fault === undefined) done.set(name, (done.get(name) ?? 0) + 1);
        assert.deepEqual(await seen(ledger, model), expected(model));
      }
      await ledger.close();
      const again = await openOn(store, { kinds: identityKinds });
      assert.deepEqual(await seen(again, model), expected(model));
      await again.close();
    }),
    { numRuns: isLong ? 10_000 : 300 },
  );
  for (const name of Object.keys(step)) t.ok((done.get(name) ?? 0) > 0, `${name}: ${done.get(name)}`);
});
