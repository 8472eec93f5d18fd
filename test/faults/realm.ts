/**
 * One administrator's own part of what is ruled, changed at random over HTTP, with what has to be there after each answer.
 *
 * Nobody else touches it, and it asks for one change at a time. So whatever happens to the daemon, only two states are
 * right: the one with the change that was not answered, whole, and the one without it.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Server } from '../e2e/server.ts';

interface User {
  readonly email: string;
  readonly groups: readonly string[];
  readonly tokens: readonly string[];
}

/** By name; groups with the names of their rules, members with their roles. */
export interface State {
  readonly rules: Readonly<Record<string, number>>;
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly users: Readonly<Record<string, User>>;
  readonly members: Readonly<Record<string, string>>;
}

interface Step {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly after: State;
  /** The name of the token that it makes. */
  readonly token?: string;
}

/** Every rule names these. */
export const subjects = ['size:all'];

/** A group is created with so many rules; they are never taken out of it, nor deleted before it. */
export const rulesOfItsOwn = 3;

const most = { groups: 4, rules: 20, users: 4, tokens: 3 };

export class Realm {
  readonly organization: string;
  /** What was shown of each token, by the token's name. */
  readonly secrets = new Map<string, string>();
  readonly #server: Server;
  readonly #name: string;
  #state: State = { rules: {}, groups: {}, users: {}, members: {} };
  /** What follows from the change that is not answered yet. */
  #unanswered: State | null = null;
  #made = 0;

  private constructor(server: Server, name: string) {
    this.#server = server;
    this.#name = name;
    this.organization = `${name} org`;
  }

  static async begin(server: Server, name: string): Promise<Realm> {
    const realm = new Realm(server, name);
    const body = { username: realm.organization, type: 'organization' };
    await realm.#ask('/admin/users', { body });
    return realm;
  }

  get state(): State {
    return this.#state;
  }

  /** Asks for one change or another; gives the status of the answer, null where there was none. */
  async change(): Promise<number | null> {
    const { method, path, body, after, token } = this.#step();
    this.#unanswered = after;
    const answer = await this.#server
      .ask('admin', `/api/v1${path}`, { method, body })
      .catch((_nobodyAnswers: unknown) => null);
    if (answer === null) return null;
    this.#unanswered = null;
    if (answer.status < 300) {
      this.#state = after;
      if (token !== undefined) this.secrets.set(token, JSON.parse(answer.text).sha1);
    }
    return answer.status;
  }

  /** The states that are right now. */
  get right(): readonly State[] {
    return this.#unanswered === null ? [this.#state] : [this.#state, this.#unanswered];
  }

  /** What the API tells; goes on from there where it is right. */
  async settle(): Promise<{ readonly isRight: boolean; readonly seen: State }> {
    const seen = await this.#seen();
    const isRight = this.right.some(state => isDeepStrictEqual(state, seen));
    this.#state = seen;
    this.#unanswered = null;
    return { isRight, seen };
  }

  async #seen(): Promise<State> {
    const named = <Item extends { readonly name: string }>(items: readonly Item[]) =>
      items.filter(({ name }) => name.startsWith(`${this.#name} `));
    const rules = named<{ name: string; limit: number }>(await this.#ask('/admin/quota/rules'));
    const groups = named<{ name: string; rules: { name: string }[] }>(await this.#ask('/admin/quota/groups'));
    const owners: { username: string; type: string; email: string }[] = await this.#ask(
      `/admin/users?limit=1000&q=${encodeURIComponent(`${this.#name} `)}`,
    );
    const users = owners.filter(({ type }) => type === 'user');
    const members: { username: string; role: string }[] = await this.#ask(
      `/admin/orgs/${encodeURIComponent(this.organization)}/members`,
    );
    return {
      rules: inOrder(rules.map(({ name, limit }) => [name, limit])),
      groups: inOrder(groups.map(group => [group.name, group.rules.map(({ name }) => name)])),
      users: inOrder(
        await Promise.all(
          users.map(
            async ({ username, email }) => [username, await this.#userSeen(username, email)] as const,
          ),
        ),
      ),
      members: inOrder(members.map(({ username, role }) => [username, role])),
    };
  }

  async #userSeen(username: string, email: string): Promise<User> {
    const name = encodeURIComponent(username);
    const quota: { groups: { name: string }[] } = await this.#ask(`/admin/users/${name}/quota`);
    const tokens: { name: string }[] = await this.#ask(`/users/${name}/tokens`);
    return {
      email,
      groups: quota.groups.map(group => group.name).sort(),
      tokens: tokens.map(token => token.name).sort(),
    };
  }

  /** The answer's body, which the routes' own tests know the form of. */
  async #ask(path: string, question: { readonly body?: object } = {}) {
    const { status, text } = await this.#server.ask('admin', `/api/v1${path}`, question);
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  #step(): Step {
    for (;;) {
      const step = oneOf(kinds)?.(this.#state, this);
      if (step != null) return { ...step, after: sorted(step.after) };
    }
  }

  /** A name that was never used before. */
  newName(what: string): string {
    return `${this.#name} ${what}/${++this.#made}`;
  }
}

type StepKind = (state: State, realm: Realm) => Step | null;

/** Each gives null where the state has nothing for it. */
const kinds: readonly StepKind[] = [
  (state, realm) => {
    if (Object.keys(state.groups).length >= most.groups) return null;
    const name = realm.newName('group');
    const rules = Array.from({ length: rulesOfItsOwn }, (_, n) => ({
      name: `${name}#${n}`,
      limit: anyLimit(),
    }));
    const after = {
      ...state,
      rules: { ...state.rules, ...Object.fromEntries(rules.map(rule => [rule.name, rule.limit])) },
      groups: { ...state.groups, [name]: rules.map(rule => rule.name) },
    };
    const body = { name, rules: rules.map(rule => ({ ...rule, subjects })) };
    return { method: 'POST', path: '/admin/quota/groups', body, after };
  },
  (state, realm) => {
    if (Object.keys(state.rules).length >= most.rules) return null;
    const name = realm.newName('rule');
    const limit = anyLimit();
    const after = { ...state, rules: { ...state.rules, [name]: limit } };
    return { method: 'POST', path: '/admin/quota/rules', body: { name, limit, subjects }, after };
  },
  state => {
    const name = oneOf(Object.keys(state.rules));
    if (name === undefined) return null;
    const limit = anyLimit();
    const after = { ...state, rules: { ...state.rules, [name]: limit } };
    return {
      method: 'PATCH',
      path: `/admin/quota/rules/${encodeURIComponent(name)}`,
      body: { limit },
      after,
    };
  },
  state => {
    const name = oneOf(freeRules(state));
    if (name === undefined) return null;
    const groups = mapped(state.groups, rules => rules.filter(rule => rule !== name));
    const after = { ...state, rules: without(state.rules, name), groups };
    return { method: 'DELETE', path: `/admin/quota/rules/${encodeURIComponent(name)}`, after };
  },
  state => {
    const group = oneOf(Object.keys(state.groups));
    if (group === undefined) return null;
    const inIt = state.groups[group] ?? [];
    const rule = oneOf(freeRules(state));
    if (rule === undefined) return null;
    const isIn = inIt.includes(rule);
    const rules = isIn ? inIt.filter(each => each !== rule) : [...inIt, rule];
    const path = `/admin/quota/groups/${encodeURIComponent(group)}/rules/${encodeURIComponent(rule)}`;
    const after = { ...state, groups: { ...state.groups, [group]: rules } };
    return { method: isIn ? 'DELETE' : 'PUT', path, after };
  },
  state => {
    const name = oneOf(Object.keys(state.groups));
    if (name === undefined) return null;
    const users = mapped(state.users, user => ({
      ...user,
      groups: user.groups.filter(group => group !== name),
    }));
    const after = { ...state, groups: without(state.groups, name), users };
    return { method: 'DELETE', path: `/admin/quota/groups/${encodeURIComponent(name)}`, after };
  },
  (state, realm) => {
    if (Object.keys(state.users).length >= most.users) return null;
    const username = realm.newName('user');
    const email = `${Object.keys(state.users).length}@git.example`;
    const after = { ...state, users: { ...state.users, [username]: { email, groups: [], tokens: [] } } };
    return { method: 'POST', path: '/admin/users', body: { username, email }, after };
  },
  (state, realm) => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const username = realm.newName('user');
    const renamed = ([each, what]: readonly [string, unknown]) => [each === name ? username : each, what];
    const after = {
      ...state,
      users: Object.fromEntries(Object.entries(state.users).map(renamed)),
      members: Object.fromEntries(Object.entries(state.members).map(renamed)),
    };
    return { method: 'PATCH', path: `/admin/users/${encodeURIComponent(name)}`, body: { username }, after };
  },
  state => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const after = { ...state, users: without(state.users, name), members: without(state.members, name) };
    return { method: 'DELETE', path: `/admin/users/${encodeURIComponent(name)}`, after };
  },
  state => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const groups = Object.keys(state.groups).filter(() => Math.random() < 0.5);
    const path = `/admin/users/${encodeURIComponent(name)}/quota/groups`;
    return { method: 'POST', path, body: { groups }, after: withUser(state, name, { groups }) };
  },
  state => {
    const name = oneOf(Object.keys(state.users));
    const group = oneOf(Object.keys(state.groups));
    if (name === undefined || group === undefined) return null;
    const assigned = state.users[name]?.groups ?? [];
    const isIn = assigned.includes(group);
    const groups = isIn ? assigned.filter(each => each !== group) : [...assigned, group];
    const path = `/admin/quota/groups/${encodeURIComponent(group)}/users/${encodeURIComponent(name)}`;
    return { method: isIn ? 'DELETE' : 'PUT', path, after: withUser(state, name, { groups }) };
  },
  (state, realm) => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const role = oneOf(['owner', 'member', null]) ?? null;
    if (role === null && state.members[name] === undefined) return null;
    const path = `/admin/orgs/${encodeURIComponent(realm.organization)}/members/${encodeURIComponent(name)}`;
    if (role === null)
      return { method: 'DELETE', path, after: { ...state, members: without(state.members, name) } };
    return {
      method: 'PUT',
      path,
      body: { role },
      after: { ...state, members: { ...state.members, [name]: role } },
    };
  },
  (state, realm) => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const held = state.users[name]?.tokens ?? [];
    if (held.length >= most.tokens) return null;
    const token = realm.newName('token');
    const body = { name: token, scopes: ['read:user'] };
    const after = withUser(state, name, { tokens: [...held, token] });
    return { method: 'POST', path: `/users/${encodeURIComponent(name)}/tokens`, body, after, token };
  },
  state => {
    const name = oneOf(Object.keys(state.users));
    const held = state.users[name ?? '']?.tokens ?? [];
    const token = oneOf(held);
    if (name === undefined || token === undefined) return null;
    const path = `/users/${encodeURIComponent(name)}/tokens/${encodeURIComponent(token)}`;
    return {
      method: 'DELETE',
      path,
      after: withUser(state, name, { tokens: held.filter(each => each !== token) }),
    };
  },
];

/** Those that are not what a group, which is still there, was created with. */
function freeRules({ rules, groups }: State): readonly string[] {
  return Object.keys(rules).filter(rule => groups[rule.split('#')[0] ?? ''] === undefined);
}

function withUser(state: State, name: string, change: Partial<User>): State {
  const user = state.users[name];
  if (user === undefined) throw new Error(`there is no user ${name}`);
  return { ...state, users: { ...state.users, [name]: { ...user, ...change } } };
}

/** As it is compared: what has no order of its own stands by name. */
function sorted({ rules, groups, users, members }: State): State {
  const each = mapped(users, ({ email, groups: assigned, tokens }) => ({
    email,
    groups: [...assigned].sort(),
    tokens: [...tokens].sort(),
  }));
  return {
    rules: inOrder(Object.entries(rules)),
    groups: inOrder(Object.entries(groups)),
    users: inOrder(Object.entries(each)),
    members: inOrder(Object.entries(members)),
  };
}

function inOrder<Item>(entries: readonly (readonly [string, Item])[]): Readonly<Record<string, Item>> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function mapped<Item>(
  record: Readonly<Record<string, Item>>,
  change: (item: Item) => Item,
): Readonly<Record<string, Item>> {
  return Object.fromEntries(Object.entries(record).map(([name, item]) => [name, change(item)]));
}

function without<Item>(record: Readonly<Record<string, Item>>, gone: string): Readonly<Record<string, Item>> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== gone));
}

function oneOf<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}

function anyLimit(): number {
  return Math.floor(Math.random() * 1_000_000);
}
