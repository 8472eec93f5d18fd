/**
 * `/users/{user}/tokens` and `/users/{user}/sessions`: the tokens and sessions of a user, for that user and
 * for administrators. `/session`: the session of the request.
 */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import {
  type Caller,
  createToken,
  endSession,
  endSessions,
  type KnownSession,
  organizationsOf,
  profileOf,
  revokeToken,
  roleIn,
  signOutHref,
  type TokenDocument,
} from '../../identity/index.ts';
import type { Ledger } from '../../ledger/index.ts';
import { isoTime, momentOf, printable } from '../../text.ts';
import { filterMapInSlices } from '../../turns.ts';
import { version } from '../../version.ts';
import * as wire from '../../wire/index.ts';
import { type Browser, mustBeAllowed, refuse } from '../asker.ts';
import { knownOwner } from '../owners.ts';
import { forgivingPage, onePage, pageQuery, tellPage, tellPages } from '../pages.ts';
import { type Call, type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const tokensPath = '/users/{user}/tokens';
const sessionsPath = '/users/{user}/sessions';

/** Query of a list of what all users have. */
const everybodysQuery = z.strictObject({
  q: wire.text.default('').meta({ description: 'Only of users whose names contain this text.' }),
  ...pageQuery,
});

export function credentialRoutes(services: ApiServices): readonly Route[] {
  return [...tokenRoutes(services), ...sessionRoutes(services)];
}

/**
 * Access rules for an operation on a user's own things, which administrators may use for every user. Others
 * are refused with `not_permitted`, whether the user exists or not; after that an unknown user is
 * `not_found`.
 */
function ownOrAdministered(ledger: Ledger, to: 'read' | 'write') {
  const keyOf = (name: string) => ledger.documents.owners.keyOf(name);
  return {
    access: { area: 'user', to },
    mustBe: ({ user }: { readonly user: string }, caller: Caller): void => {
      const isOwn = caller.name !== null && keyOf(caller.name) === keyOf(user);
      if (!isOwn) mustBeAllowed(caller, { area: 'admin', to });
      knownOwner(ledger, user);
    },
  } as const;
}

function tokenRoutes(services: ApiServices): readonly Route[] {
  const { ledger, identity } = services;
  return [
    route('get', 'listTokens', tokensPath, {
      ...ownOrAdministered(ledger, 'read'),
      summary: 'The tokens of a user, in the order of creation',
      description: 'The tokens of other users need an administrator and also the scope `read:admin`.',
      query: z.object(forgivingPage(1000)),
      answer: onePage(wire.token),
      handle: ({ params: { user }, query }, call) => {
        const tokens = identity.tokensOf(knownOwner(ledger, user).id);
        tellPages(call, query, tokens.length);
        const end = query.page * query.limit;
        return tokens.slice(end - query.limit, end).map(token => tokenShown(token, token.lastUsedAt));
      },
    }),
    route('get', 'listAllTokens', '/admin/tokens', {
      summary: 'The tokens of all users, the newest first',
      query: everybodysQuery,
      answer: onePage(wire.anyToken),
      handle: async ({ query }, call) => {
        const page = await everybodysPage(services, call, query, identity.everyToken(), token => token);
        return page.map(({ entry, user }) => ({ ...tokenShown(entry, entry.lastUsedAt), user }));
      },
    }),
    route('post', 'createToken', tokensPath, {
      ...ownOrAdministered(ledger, 'write'),
      summary: 'Make a token',
      description:
        'The tokens of other users need an administrator and also the scope `write:admin`. A token never has more rights than ' +
        'the token that created it, and does not last longer.',
      body: wire.newToken,
      faults: [404, 409],
      answer: { status: 201, description: 'The token, which is shown only once', schema: wire.createdToken },
      handle: async (named, { caller, change }) => {
        const { name, scopes, expires_at: expiresAt } = named.body;
        const wanted = { name, scopes, expiresAt: momentOf(expiresAt) };
        const made = await change(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          return createToken(transaction.changes, owner, wanted, { maker: caller, now: Date.now() });
        });
        return { ...tokenShown(made.document), sha1: made.token };
      },
    }),
    route('delete', 'revokeToken', `${tokensPath}/{id}`, {
      ...ownOrAdministered(ledger, 'write'),
      summary: 'Revoke a token',
      description:
        'By its id or its name. From then on the token is refused, and also all sessions that were started with it.',
      answer: { status: 204, description: 'It is gone' },
      handle: async (named, { change }) => {
        await change(transaction => {
          revokeToken(transaction.changes, transaction.mustBeOwner(named.params.user), named.params.id);
        });
      },
    }),
  ];
}

/**
 * Returns one page of the entries of all users whose names contain a text, newest first, with the users'
 * names. `made` returns the document of an entry, which has the owner and the time of creation.
 */
async function everybodysPage<Entry>(
  { documents: { owners } }: ApiServices,
  call: Call,
  query: z.output<typeof everybodysQuery>,
  entries: Iterable<Entry>,
  made: (entry: Entry) => Pick<TokenDocument, 'createdAt' | 'id' | 'owner'>,
): Promise<readonly { readonly entry: Entry; readonly user: string }[]> {
  const wanted = owners.keyOf(query.q);
  const found = filterMapInSlices(entries, entry => {
    const user = owners.byId(made(entry).owner);
    return user?.key.includes(wanted) ? { entry, user: user.name, ...made(entry) } : undefined;
  });
  const compare = (a: Made, b: Made) => b.createdAt - a.createdAt || b.id - a.id;
  return tellPage(call, found, compare, query);
}

type Made = Pick<TokenDocument, 'createdAt' | 'id'>;

function tokenShown(
  { id, name, scopes, lastEight, ...times }: TokenDocument,
  lastUsedAt: number | null = null,
): wire.Token {
  return {
    id,
    name,
    scopes,
    token_last_eight: lastEight,
    created_at: isoTime(times.createdAt),
    last_used_at: isoTime(lastUsedAt),
    expires_at: isoTime(times.expiresAt),
  };
}

const setCookie = { 'Set-Cookie': 'The session, for browsers alone.' } as const;

function sessionRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, identity, fleet, host, baseUrl } = services;
  /** Returns since when this host's store, or the shared one, cannot be reached; null if both can. */
  const storeAwaySince = (): string | null => {
    const since = [ledger.storeAway, fleet?.state.away].flatMap(away => away?.since ?? []);
    return since.length === 0 ? null : isoTime(Math.min(...since));
  };

  /** Throws `not_found` if the caller is not a user. */
  const shown = (
    caller: Pick<Caller, 'ownerId' | 'name' | 'isAdmin' | 'scopes' | 'expiresAt'>,
    known: KnownSession | undefined,
  ): wire.Session => {
    const { ownerId, name, isAdmin, scopes, expiresAt } = caller;
    if (ownerId === null || name === null) throw noSession();
    const { snapshot, owners } = documents;
    const owned = organizationsOf(snapshot, ownerId).filter(id => roleIn(snapshot, id, ownerId) === 'owner');
    const end = known === undefined ? expiresAt : known.endsAt;
    return {
      login: name,
      full_name: profileOf(snapshot, ownerId).fullName,
      is_admin: isAdmin,
      organizations: owned.flatMap(id => owners.byId(id)?.name ?? []).sort(),
      scopes,
      expires_at: isoTime(end),
      via: known?.document.via.is ?? 'token',
      sign_out_href: known === undefined ? null : signOutHref(snapshot, known.document),
      host,
      store_away_since: storeAwaySince(),
      shares: fleet !== null,
      version,
    };
  };

  return [
    route('get', 'getSession', '/session', {
      summary: 'The user who is signed in',
      description: 'From the session, or from the token of the request.',
      access: 'whoever is known',
      faults: [404],
      answer: { status: 200, description: 'The caller', schema: wire.session },
      handle: (_, { caller }) =>
        shown(caller, caller.sessionKey === null ? undefined : identity.signedIn.session(caller.sessionKey)),
    }),
    route('post', 'signIn', '/session', {
      summary: 'Sign a browser in',
      description:
        'With a token: the session has the same scopes, and ends with the token. Or with the code of a ' +
        'sign-in link. An earlier session of the browser ends. Only for pages of softquota; programs send the ' +
        'token with each request.',
      access: 'our page',
      body: wire.signIn,
      faults: [401, 404, 429],
      answer: { status: 201, description: 'Who is signed in', schema: wire.session, headers: setCookie },
      handle: async ({ body }, call) => {
        const browser = mustBeBrowser(call.browser);
        const { token, code = '' } = body;
        const by = token === undefined ? { code } : { token };
        const result = await identity.signIn(by, browser.address, browser.held);
        if (result.is !== 'signed in') return refuse(result, 'code' in by ? goneLink : undefined);
        const { started } = result;
        const known = identity.signedIn.session(started.key);
        const owner = documents.owners.byId(started.document.owner);
        // Another request may have ended the session or deleted the owner at this moment.
        if (known === undefined || owner === undefined) return refuse({ is: 'refused' });
        browser.hold(started);
        const { isAdmin } = profileOf(documents.snapshot, owner.id);
        const { scopes, endsAt } = started.document;
        return shown({ ownerId: owner.id, name: owner.name, isAdmin, scopes, expiresAt: endsAt }, known);
      },
    }),
    route('delete', 'signOut', '/session', {
      summary: 'Sign out',
      description: 'Ends the session of the request. A token does not end: 404.',
      access: 'whoever is known',
      faults: [404],
      answer: { status: 204, description: 'It is over', headers: setCookie },
      handle: async (_, { caller, browser, change }) => {
        const { sessionKey } = caller;
        const ended = sessionKey === null ? undefined : identity.signedIn.session(sessionKey);
        if (ended === undefined || browser === null) throw noSession();
        const { id, owner } = ended.document;
        await change(({ changes }) => endSessions(changes, owner, session => session.id === id));
        browser.hold(null);
      },
    }),
    route('get', 'listSessions', sessionsPath, {
      ...ownOrAdministered(ledger, 'read'),
      summary: 'The sessions of a user in browsers, in the order of creation',
      description: 'The sessions of other users need an administrator and also the scope `read:admin`.',
      answer: { status: 200, description: 'Sessions', schema: z.array(wire.sessionRow) },
      handle: (named, { caller }) =>
        identity.signedIn
          .sessionsOf(knownOwner(ledger, named.params.user).id)
          .map(known => rowOf(known, caller.sessionKey)),
    }),
    route('get', 'listAllSessions', '/admin/sessions', {
      summary: 'The sessions of all users in browsers, the newest first',
      query: everybodysQuery,
      answer: onePage(wire.anySession),
      handle: async ({ query }, call) => {
        const sessions = identity.signedIn.everySession();
        const page = await everybodysPage(services, call, query, sessions, ({ document }) => document);
        return page.map(({ entry, user }) => ({ ...rowOf(entry, call.caller.sessionKey), user }));
      },
    }),
    route('delete', 'endSession', `${sessionsPath}/{id}`, {
      ...ownOrAdministered(ledger, 'write'),
      summary: 'Sign a browser out',
      description: 'It is refused from then on.',
      answer: { status: 204, description: 'It is over' },
      handle: async (named, { change }) => {
        await change(transaction => {
          endSession(transaction.changes, transaction.mustBeOwner(named.params.user), named.params.id);
        });
      },
    }),
    route('post', 'makeSignInLink', '/users/{user}/sign-in-link', {
      summary: 'Create a link that signs a user in',
      description:
        'The link works once, within ten minutes, on the host that created it, until its daemon ends. The session has no more ' +
        'rights than the token of this request, and does not last longer.',
      mustBe: named => void knownOwner(ledger, named.user),
      answer: { status: 201, description: 'The link', schema: wire.signInLink },
      handle: (named, { caller }) => {
        const { id: ownerId, name, type } = knownOwner(ledger, named.params.user);
        if (type !== 'user') {
          throw new SoftquotaError('invalid', `${printable(name)} is an organization: only users sign in`);
        }
        const { code, until } = identity.makeSignInLink({
          ownerId,
          scopes: caller.scopes,
          endsAt: caller.expiresAt,
        });
        return { url: `${baseUrl()}sign-in#code=${code}`, expires_at: isoTime(until) };
      },
    }),
  ];
}

const goneLink = 'the link is invalid, expired or already used: ask an administrator for a new one';

function noSession(): SoftquotaError {
  return new SoftquotaError('not_found', 'the request has no session');
}

/** Throws `not_found`. */
function mustBeBrowser(browser: Browser | null): Browser {
  if (browser !== null) return browser;
  const message = 'no sign-in is needed here: on this socket every request is from the administrator';
  throw new SoftquotaError('not_found', message);
}

function rowOf({ key, document, lastUsedAt, endsAt }: KnownSession, ownKey: string | null): wire.SessionRow {
  return {
    id: String(document.id),
    created_at: isoTime(document.createdAt),
    last_used_at: isoTime(lastUsedAt),
    expires_at: isoTime(endsAt),
    via: document.via.is,
    current: key === ownKey,
  };
}
