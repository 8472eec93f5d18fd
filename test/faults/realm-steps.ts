/** The changes that are asked for at random, each with the state that it leads to. */

export interface User {
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

export interface Step {
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

/** Part of a realm that chooses names for a change. */
export interface Chooser {
  readonly organization: string;
  /** A name that was never used before. */
  newName(what: string): string;
}

/** One change or another that this state has something for. */
export function anyStep(state: State, chooser: Chooser): Step {
  for (;;) {
    const step = oneOf(kinds)?.(state, chooser);
    if (step != null) return { ...step, after: sorted(step.after) };
  }
}

type StepKind = (state: State, chooser: Chooser) => Step | null;

/** Each gives null where the state has nothing for it. */
const kinds: readonly StepKind[] = [
  (state, chooser) => {
    if (Object.keys(state.groups).length >= most.groups) return null;
    const name = chooser.newName('group');
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
  (state, chooser) => {
    if (Object.keys(state.rules).length >= most.rules) return null;
    const name = chooser.newName('rule');
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
  (state, chooser) => {
    if (Object.keys(state.users).length >= most.users) return null;
    const username = chooser.newName('user');
    const email = `${Object.keys(state.users).length}@git.example`;
    const after = { ...state, users: { ...state.users, [username]: { email, groups: [], tokens: [] } } };
    return { method: 'POST', path: '/admin/users', body: { username, email }, after };
  },
  (state, chooser) => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const username = chooser.newName('user');
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
  (state, chooser) => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const role = oneOf(['owner', 'member', null]) ?? null;
    if (role === null && state.members[name] === undefined) return null;
    const path = `/admin/orgs/${encodeURIComponent(chooser.organization)}/members/${encodeURIComponent(name)}`;
    if (role === null)
      return { method: 'DELETE', path, after: { ...state, members: without(state.members, name) } };
    return {
      method: 'PUT',
      path,
      body: { role },
      after: { ...state, members: { ...state.members, [name]: role } },
    };
  },
  (state, chooser) => {
    const name = oneOf(Object.keys(state.users));
    if (name === undefined) return null;
    const held = state.users[name]?.tokens ?? [];
    if (held.length >= most.tokens) return null;
    const token = chooser.newName('token');
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

/** Puts a state into a form for comparison: lists without an order of their own stand by name. */
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

export function inOrder<Item>(entries: readonly (readonly [string, Item])[]): Readonly<Record<string, Item>> {
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
