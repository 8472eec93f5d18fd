/**
 * One administrator's own part of what is ruled, changed at random over HTTP, with what has to be there after
 * each answer.
 *
 * Nobody else touches it, and it asks for one change at a time. So whatever happens to the daemon, only two
 * states are right: the one with the change that was not answered, whole, and the one without it.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Server } from '../e2e/server.ts';
import { anyStep, type Chooser, inOrder, type State, type User } from './realm-steps.ts';

export class Realm implements Chooser {
  readonly organization: string;
  /** Secrets that were shown of tokens, by the token's name. */
  readonly secrets = new Map<string, string>();
  readonly #server: Server;
  readonly #name: string;
  #state: State = { rules: {}, groups: {}, users: {}, members: {} };
  /** State after the change that is not answered yet. */
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
    const { method, path, body, after, token } = anyStep(this.#state, this);
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

  /** Reads the state from the API, and goes on from there if it is right. */
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

  newName(what: string): string {
    return `${this.#name} ${what}/${++this.#made}`;
  }
}
