/** A daemon with a source at a provider, and browsers that sign in by it. */

import type { Test } from 'tap';
import { z } from 'zod';
import { savedSource } from '../../../src/wire/index.ts';
import { signInEvents } from '../../api/people.ts';
import { World, type WorldOptions } from '../../api/world.ts';
import { Browser } from './browser.ts';
import type { Client } from './issuer.ts';

export interface At {
  readonly issuer: string;
  readonly client: Client;
  allow(redirectUri: string, postLogoutRedirectUri?: string): void;
}

export interface Signed {
  readonly browser: Browser;
  /** Page of the daemon that the browser came to. */
  readonly at: URL;
  /** Login in `/session`; null: nobody is signed in. */
  readonly login: string | null;
  readonly isAdmin: boolean;
}

/** Quota groups that there are. */
export const groups: readonly string[] = ['gold', 'silver', 'bronze', 'manual'];

const session = z.object({ login: z.string(), is_admin: z.boolean() });

export class SignInWorld {
  readonly world: World;
  readonly id: number;

  private constructor(world: World, id: number) {
    this.world = world;
    this.id = id;
  }

  /** With the quota groups of `groups`. */
  static async open(t: Test, at: At, fields: object = {}, options: WorldOptions = {}): Promise<SignInWorld> {
    const world = await World.open(t, options);
    for (const name of groups) {
      await world.post('/admin/quota/groups', { name, rules: [] });
    }
    return new SignInWorld(world, await addSource(world, at, { name: 'company', ...fields }));
  }

  get begin(): URL {
    return new URL(`sign-in/oauth2/${this.id}`, this.world.url);
  }

  isHere(url: URL): boolean {
    return url.origin === this.world.url.origin;
  }

  /** A browser goes through all of it; `returnTo` as the page would add it. */
  async signIn(browser = new Browser(), returnTo?: string): Promise<Signed> {
    const begin = this.begin;
    if (returnTo !== undefined) begin.searchParams.set('return_to', returnTo);
    return this.signed(browser, await this.arrive(browser, begin));
  }

  /** Ends at the first address of the daemon that is not on the way. */
  isPage(url: URL): boolean {
    return this.isHere(url) && !url.pathname.startsWith('/sign-in/oauth2/');
  }

  /** Follows redirects from this address to a page of the daemon. */
  async arrive(browser: Browser, address: URL | string): Promise<URL> {
    return await browser.go(address, url => this.isPage(url));
  }

  async signed(browser: Browser, at: URL): Promise<Signed> {
    const { status, body } = await browser.get(new URL('api/v1/session', this.world.url));
    if (status !== 200) return { browser, at, login: null, isAdmin: false };
    const { login, is_admin: isAdmin } = session.parse(JSON.parse(body));
    return { browser, at, login, isAdmin };
  }

  async edit(fields: object): Promise<void> {
    await this.world.patch(`/admin/auths/${this.id}`, fields);
  }

  /** The oldest first. */
  events(): ReturnType<typeof signInEvents> {
    return signInEvents(this.world);
  }

  /** Why nobody could sign in by a source, as the log has it. */
  get troubles(): readonly string[] {
    const line = z.object({ msg: z.literal('nobody could sign in by a source'), reason: z.string() });
    return this.world.log.flatMap(text => line.safeParse(JSON.parse(text)).data?.reason ?? []);
  }

  /** Log lines on sign-ins that came to nothing. */
  get faults(): readonly { readonly fault: string; readonly reason: string }[] {
    const line = z.object({
      msg: z.literal('a sign-in came to nothing'),
      fault: z.string(),
      reason: z.string(),
    });
    return this.world.log.flatMap(text => line.safeParse(JSON.parse(text)).data ?? []);
  }
}

/** Tells whether a provider sends a browser back to there, with or without a code. */
export function isBack(url: URL): boolean {
  return url.pathname.endsWith('/callback');
}

export async function addSource(world: World, at: At, fields: object): Promise<number> {
  const json = await world.post('/admin/auths', {
    openid_connect_auto_discovery_url: at.issuer,
    client_id: at.client.id,
    client_secret: at.client.secret,
    quota_group_claim_name: 'groups',
    quota_group_map: { staff: ['gold'], guests: ['bronze'] },
    quota_group_map_removal: true,
    ...fields,
  });
  const { id, redirect_uri, post_logout_redirect_uri, warning } = savedSource.parse(json);
  if (warning !== null) throw new Error(warning);
  at.allow(redirect_uri, post_logout_redirect_uri);
  return id;
}
