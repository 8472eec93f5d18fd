/**
 * `/session`: the session of the request. `/users/{user}/sessions`: the sessions of a user, for that user and
 * for administrators.
 */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import {
  type Caller,
  endSession,
  endSessions,
  type KnownSession,
  organizationsOf,
  profileOf,
  roleIn,
} from '../../identity/index.ts';
import { signOutHref } from '../../oauth/index.ts';
import { isoTime, printable } from '../../text.ts';
import { version } from '../../version.ts';
import * as wire from '../../wire/index.ts';
import { type Browser, refuse } from '../asker.ts';
import { knownOwner, ownOrAdministered } from '../owners.ts';
import { onePage } from '../pages.ts';
import { deleteRoute, getRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { everybodysPage, everybodysQuery } from './tokens.ts';

const path = '/users/{user}/sessions';

const setCookie = { 'Set-Cookie': 'The session, for browsers alone.' } as const;

export function sessionRoutes(services: ApiServices): readonly Route[] {
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
    getRoute('getSession', '/session', {
      summary: 'The user who is signed in',
      description: 'From the session, or from the token of the request.',
      access: 'whoever is known',
      faults: [404],
      answer: { status: 200, description: 'The caller', schema: wire.session },
      handle: (_, { caller }) =>
        shown(caller, caller.sessionKey === null ? undefined : identity.signedIn.session(caller.sessionKey)),
    }),
    postRoute('signIn', '/session', {
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
    deleteRoute('signOut', '/session', {
      summary: 'Sign out',
      description: 'Ends the session of the request. A token does not end: 404.',
      access: 'whoever is known',
      faults: [404],
      answer: { status: 204, description: 'It is over', headers: setCookie },
      handle: async (_, { caller, browser, change }) => {
        const { sessionKey } = caller;
        const ended = sessionKey === null ? undefined : identity.signedIn.session(sessionKey);
        if (ended === undefined || browser === null) throw noSession();
        await change(({ changes }) => endSessions(changes, ({ id }) => id === ended.document.id));
        browser.hold(null);
      },
    }),
    getRoute('listSessions', path, {
      ...ownOrAdministered(ledger, 'read'),
      summary: 'The sessions of a user in browsers, in the order of creation',
      description: 'The sessions of other users need an administrator and also the scope `read:admin`.',
      answer: { status: 200, description: 'Sessions', schema: z.array(wire.sessionRow) },
      handle: (named, { caller }) =>
        identity.signedIn
          .sessionsOf(knownOwner(ledger, named.params.user).id)
          .map(known => rowOf(known, caller.sessionKey)),
    }),
    getRoute('listAllSessions', '/admin/sessions', {
      summary: 'The sessions of all users in browsers, the newest first',
      query: z.strictObject(everybodysQuery),
      answer: onePage(wire.anySession),
      handle: async ({ query }, call) => {
        const sessions = identity.signedIn.everySession();
        const page = await everybodysPage(services, call, query, sessions, ({ document }) => document);
        return page.map(({ entry, user }) => ({ ...rowOf(entry, call.caller.sessionKey), user }));
      },
    }),
    deleteRoute('endSession', `${path}/{id}`, {
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
    postRoute('makeSignInLink', '/users/{user}/sign-in-link', {
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
