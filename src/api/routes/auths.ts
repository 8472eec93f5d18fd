/**
 * `/admin/auths`: OAuth2 sources, the accounts that are linked to users, and the effect of claims.
 * `/sign-in/sources`: the sources that the sign-in page offers.
 */

import { z } from 'zod';
import { FaultList, SoftquotaError } from '../../errors.ts';
import { given } from '../../given.ts';
import * as identity from '../../identity/index.ts';
import { isoTime, printable } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { administrators } from '../asker.ts';
import { knownOwner } from '../owners.ts';
import { onePage, pageQuery, tellPage } from '../pages.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const path = '/admin/auths';
const one = `${path}/{id}` as const;

export function authRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, secretKeys: keys, signIn, log, autoCreate } = services;
  const shown = (document: identity.SourceDocument): wire.Source => ({
    ...identity.sourceShown(document),
    client_secret_state: secretStates[identity.clientSecretOf(document, keys).is],
    unknown_quota_groups: identity.unknownQuotaGroups(documents.snapshot, document.mapping),
    redirect_uri: signIn.redirectUri(document.id),
    post_logout_redirect_uri: signIn.postLogoutRedirectUri,
  });
  const saved = async (document: identity.SourceDocument) => ({
    ...shown(document),
    warning: document.isActive ? await signIn.trouble(document) : null,
  });
  const mustBe = ({ id }: { readonly id: string }) => void identity.mustBeSource(documents.snapshot, id);
  return [
    route('get', 'listSources', path, {
      summary: 'OAuth2 sources, in the order of creation',
      answer: { status: 200, description: 'Sources', schema: z.array(wire.source) },
      handle: () => identity.sourcesIn(documents.snapshot).map(shown),
    }),
    route('post', 'createSource', path, {
      summary: 'Create an OAuth2 source',
      description:
        'The source is saved even if the provider cannot be reached; `warning` then has the reason. Enter `redirect_uri` of ' +
        'the answer at the provider.',
      body: wire.newSource,
      faults: [409],
      answer: { status: 201, description: 'The source', schema: wire.savedSource },
      handle: async ({ body }, { change }) => {
        const wanted = wantedSource(body);
        const making = { keys, now: Date.now() };
        return saved(await change(({ changes }) => identity.createSource(changes, wanted, making)));
      },
    }),
    route('get', 'getSource', one, {
      summary: 'One OAuth2 source',
      answer: { status: 200, description: 'The source', schema: wire.source },
      handle: named => shown(identity.mustBeSource(documents.snapshot, named.params.id)),
    }),
    route('patch', 'editSource', one, {
      summary: 'Change an OAuth2 source',
      description:
        'If the source is no longer active, or has another provider, its users are signed out. Users whom it made administrators ' +
        'lose these rights then, and also if it looks for another group.',
      body: wire.sourceEdit,
      faults: [404, 409],
      mustBe,
      answer: { status: 200, description: 'The source as it is now', schema: wire.savedSource },
      handle: async (named, { change }) => {
        const edit = editIn(named.body);
        const { id } = named.params;
        const making = { keys, now: Date.now() };
        return saved(await change(transaction => identity.editSource(transaction, id, edit, making)));
      },
    }),
    route('delete', 'deleteSource', one, {
      summary: 'Delete an OAuth2 source',
      description:
        'Users whom it made administrators lose these rights, and its users are signed out. Links stay: another source ' +
        'with the same provider uses them.',
      answer: { status: 204, description: 'It is gone' },
      handle: (named, { change }) =>
        change(transaction => identity.deleteSource(transaction, named.params.id)),
    }),
    route('get', 'listLinks', `${one}/links`, {
      summary: 'The accounts that are linked at the provider of a source, in the order of creation',
      description: 'Other sources with the same provider have the same links.',
      query: z.strictObject(pageQuery),
      mustBe,
      answer: onePage(wire.link),
      handle: async ({ params: { id }, query }, call) => {
        const { discoveryUrl } = identity.mustBeSource(documents.snapshot, id);
        const links = identity.linksAt(documents.snapshot, identity.issuerOf(discoveryUrl));
        const page = await tellPage(call, links, byCreation, query);
        return page.map(each => ({
          user: documents.owners.byId(each.owner)?.name ?? '',
          subject: each.subject,
          gives_administration: each.administrationBy !== null,
          created_at: isoTime(each.createdAt),
        }));
      },
    }),
    route('put', 'linkUser', `${one}/links/{user}`, {
      summary: 'Link a user to an account at the provider of a source',
      description: 'From then on, a sign-in with that subject at the provider is a sign-in of this user.',
      body: wire.newLink,
      faults: [404, 409],
      mustBe: named => {
        mustBe(named);
        knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'The user is linked' },
      handle: async ({ params: { id, user }, body: { subject } }, { change }) => {
        await change(transaction => {
          const issuer = identity.issuerOf(identity.mustBeSource(transaction.changes, id).discoveryUrl);
          identity.putLink(
            transaction.changes,
            transaction.mustBeOwner(user),
            { issuer, subject },
            Date.now(),
          );
        });
      },
    }),
    route('delete', 'unlinkUser', `${one}/links/{user}`, {
      summary: 'Unlink a user from the account at the provider of a source',
      description:
        'The next sign-in with that subject is treated like the first one. If a source made the user an ' +
        'administrator, that ends.',
      answer: { status: 204, description: 'It is gone' },
      handle: ({ params: { id, user } }, { change }) =>
        change(transaction => identity.unlink(transaction, id, user)),
    }),
    route('post', 'trySourceDraft', `${path}/try`, {
      summary: 'Show what claims would change with a source that is not saved',
      description: 'Changes nothing.',
      access: administrators.read,
      body: wire.triedSource,
      answer: { status: 200, description: 'The effect on the user', schema: wire.triedSynchronization },
      handle: ({ body: { source, user, claims } }) => {
        const draft = identity.draftSource(documents.snapshot, wantedSource(source), Date.now());
        return identity.tryClaims(documents, draft, user ?? null, claims);
      },
    }),
    route('post', 'trySource', `${one}/try`, {
      summary: 'Show what claims would change with a source',
      description: 'Changes nothing.',
      access: administrators.read,
      body: wire.triedClaims,
      mustBe,
      answer: { status: 200, description: 'The effect on the user', schema: wire.triedSynchronization },
      handle: ({ params: { id }, body: { user, claims } }) =>
        identity.tryClaims(documents, identity.mustBeSource(documents.snapshot, id), user ?? null, claims),
    }),
    route('post', 'synchronizeUser', `${one}/claims`, {
      summary: "Synchronize a user's quota groups from claims",
      description:
        'It does the same as a sign-in, in one change with one event, but makes nobody an administrator. With `[users] ' +
        'AUTO_CREATE = true` an unknown user is created.',
      body: wire.claimed,
      faults: [404, 409],
      mustBe,
      answer: { status: 200, description: 'The effect on the user', schema: wire.synchronization },
      handle: ({ params: { id }, body: { user, claims } }, { caller }) => {
        const { name: source } = identity.mustBeSource(documents.snapshot, id);
        const asked = { user, source, claims, isTrial: false };
        return identity.synchronizeClaimed({ documents, autoCreate, log }, asked, caller);
      },
    }),
    route('get', 'listSignInSources', '/sign-in/sources', {
      summary: 'The sources that users can sign in with',
      access: 'anybody',
      answer: { status: 200, description: 'The active sources', schema: z.array(wire.offeredSource) },
      handle: () => [...signIn.offered()],
    }),
  ];
}

function byCreation(a: identity.LinkDocument, b: identity.LinkDocument): number {
  return a.createdAt - b.createdAt || a.owner - b.owner;
}

const secretStates = { none: 'none', known: 'set', lost: 'unreadable' } as const;

/** Throws `invalid` with the faults of the mapping and their places. */
function wantedSource(body: wire.NewSource): identity.NewSource {
  const { name, openid_connect_auto_discovery_url: discoveryUrl, client_id: clientId } = body;
  return { ...editIn(body), name, discoveryUrl, clientId };
}

/**
 * Converts an edit of a source. Null means unchanged; an empty text removes an optional value. Throws as
 * `wantedSource` does.
 */
function editIn(body: wire.SourceEdit): Partial<identity.SourceFields> {
  const mapping = mappingOf(body.quota_group_map);
  const { scopes } = body;
  return {
    ...given({
      name: body.name,
      discoveryUrl: body.openid_connect_auto_discovery_url,
      clientId: body.client_id,
      scopes: typeof scopes === 'string' ? scopes.split(/\s+/).filter(scope => scope !== '') : scopes,
      usernameClaim: body.username_claim,
      trustUsernames: body.trust_usernames,
      mapping,
      removal: body.quota_group_map_removal,
      missingClaim: body.missing_claim,
      signOutAtProvider: body.sign_out_at_provider,
      isActive: body.is_active,
    }),
    ...emptyAsNull({
      clientSecret: body.client_secret,
      adminClaim: body.admin_group_claim_name,
      adminGroup: body.admin_group,
      groupClaim: body.quota_group_claim_name,
    }),
  };
}

type Texts = Readonly<Record<string, string | null | undefined>>;

function emptyAsNull<Fields extends Texts>(fields: Fields): { [Name in keyof Fields]?: string | null };
function emptyAsNull(fields: Texts): Texts {
  return Object.fromEntries(
    Object.entries(given(fields)).map(([name, text]) => [name, text === '' ? null : text]),
  );
}

/** Returns null if the body has no mapping. Throws `invalid`. */
function mappingOf(value: unknown): identity.SourceFields['mapping'] | null {
  if (value === undefined || value === null) return null;
  const mapped = wire.mappingIn(value);
  if (mapped.ok) return mapped.mapping;
  const faults = mapped.faults.map(fault => `quota_group_map: ${fault}`);
  throw new SoftquotaError('invalid', printable(FaultList.of(faults).toString()));
}
