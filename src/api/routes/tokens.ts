/** `/users/{user}/tokens`: the tokens of a user, for that user and for administrators. */

import { z } from 'zod';
import { createToken, revokeToken, type TokenDocument } from '../../identity/index.ts';
import { filterMapInSlices } from '../../slices.ts';
import { isoTime, momentOf } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { knownOwner, ownOrAdministered } from '../owners.ts';
import { forgivingPage, onePage, pageQuery, tellPage, tellPages } from '../pages.ts';
import { type Call, deleteRoute, getRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';

export const everybodysQuery = {
  q: wire.text.default('').meta({ description: 'Only of users whose names contain this text.' }),
  ...pageQuery,
} as const;

const path = '/users/{user}/tokens';

export function tokenRoutes(services: ApiServices): readonly Route[] {
  const { ledger, identity } = services;
  return [
    getRoute('listTokens', path, {
      ...ownOrAdministered(ledger, 'read'),
      summary: 'The tokens of a user, in the order of creation',
      description: 'The tokens of other users need an administrator and also the scope `read:admin`.',
      query: z.object(forgivingPage({ usual: 1000, most: 1000 })),
      answer: onePage(wire.token),
      handle: ({ params: { user }, query }, call) => {
        const tokens = identity.tokensOf(knownOwner(ledger, user).id);
        tellPages(call, query, tokens.length);
        const end = query.page * query.limit;
        return tokens.slice(end - query.limit, end).map(token => tokenShown(token, token.lastUsedAt));
      },
    }),
    getRoute('listAllTokens', '/admin/tokens', {
      summary: 'The tokens of all users, the newest first',
      query: z.strictObject(everybodysQuery),
      answer: onePage(wire.anyToken),
      handle: async ({ query }, call) => {
        const page = await everybodysPage(services, call, query, identity.everyToken(), token => token);
        return page.map(({ entry, user }) => ({ ...tokenShown(entry, entry.lastUsedAt), user }));
      },
    }),
    postRoute('createToken', path, {
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
    deleteRoute('revokeToken', `${path}/{id}`, {
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
export async function everybodysPage<Entry>(
  { documents: { owners } }: ApiServices,
  call: Call,
  query: { readonly q: string; readonly page: number; readonly limit: number },
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
