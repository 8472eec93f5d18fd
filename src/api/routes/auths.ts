/**
 * `/admin/auths`: OAuth2 sources, the users who are linked to accounts there, and the effect of claims;
 * `/sign-in/sources`: those that the sign-in page offers.
 */

import { z } from 'zod';
import { FaultList, SoftquotaError } from '../../errors.ts';
import { given } from '../../given.ts';
import { linksAt, putLink } from '../../identity/index.ts';
import {
  clientSecretOf,
  createSource,
  deleteSource,
  draftSource,
  editSource,
  issuerOf,
  mustBeSource,
  type SourceDocument,
  type SourceFields,
  sourceShown,
  sourcesIn,
  synchronizeClaimed,
  tryClaims,
  unknownQuotaGroups,
  unlink,
  type NewSource as WantedSource,
} from '../../oauth/index.ts';
import { isoTime, printable } from '../../text/index.ts';
import {
  claimed,
  link,
  mappingIn,
  type NewSource,
  newLink,
  newSource,
  offeredSource,
  type Source,
  type SourceEdit,
  savedSource,
  source,
  sourceEdit,
  synchronization,
  triedClaims,
  triedSource,
  triedSynchronization,
} from '../../wire/index.ts';
import { administrators } from '../asker.ts';
import { knownOwner } from '../owners.ts';
import { deleteRoute, getRoute, patchRoute, postRoute, putRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const path = '/admin/auths';
const one = `${path}/{id}` as const;

export function authRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, secretKeys: keys, signIn, log, autoCreate, now } = services;
  const shown = (document: SourceDocument): Source => ({
    ...sourceShown(document),
    client_secret_state: secretStates[clientSecretOf(document, keys).is],
    unknown_quota_groups: unknownQuotaGroups(documents.snapshot, document.mapping),
    redirect_uri: signIn.redirectUri(document.id),
    post_logout_redirect_uri: signIn.postLogoutRedirectUri,
  });
  const saved = async (document: SourceDocument) => ({
    ...shown(document),
    warning: document.isActive ? await signIn.trouble(document) : null,
  });
  const mustBe = ({ id }: { readonly id: string }) => void mustBeSource(documents.snapshot, id);
  return [
    getRoute('listSources', path, {
      summary: 'OAuth2 sources, in the order of creation',
      answer: { status: 200, description: 'Sources', schema: z.array(source) },
      handle: () => sourcesIn(documents.snapshot).map(shown),
    }),
    postRoute('createSource', path, {
      summary: 'Create an OAuth2 source',
      description:
        'The source is saved even if the provider cannot be reached; `warning` then has the reason. Enter `redirect_uri` of ' +
        'the answer at the provider.',
      body: newSource,
      faults: [409],
      answer: { status: 201, description: 'The source', schema: savedSource },
      handle: async ({ body }, { change }) => {
        const wanted = wantedSource(body);
        const making = { keys, now: now() };
        return saved(await change(({ changes }) => createSource(changes, wanted, making)));
      },
    }),
    getRoute('getSource', one, {
      summary: 'One OAuth2 source',
      answer: { status: 200, description: 'The source', schema: source },
      handle: named => shown(mustBeSource(documents.snapshot, named.params.id)),
    }),
    patchRoute('editSource', one, {
      summary: 'Change an OAuth2 source',
      description:
        'If the source is no longer active, or has another provider, its users are signed out. Users whom it made administrators ' +
        'lose these rights then, and also if it looks for another group.',
      body: sourceEdit,
      faults: [404, 409],
      mustBe: ({ id }) => void mustBeSource(documents.snapshot, id),
      answer: { status: 200, description: 'The source as it is now', schema: savedSource },
      handle: async (named, { change }) => {
        const edit = editIn(named.body);
        const { id } = named.params;
        const making = { keys, now: now() };
        return saved(await change(transaction => editSource(transaction, id, edit, making)));
      },
    }),
    deleteRoute('deleteSource', one, {
      summary: 'Delete an OAuth2 source',
      description:
        'Users whom it made administrators lose these rights, and its users are signed out. Links stay: another source ' +
        'with the same provider uses them.',
      answer: { status: 204, description: 'It is gone' },
      handle: (named, { change }) => change(transaction => deleteSource(transaction, named.params.id)),
    }),
    getRoute('listLinks', `${one}/links`, {
      summary: 'List the accounts that are linked at the provider of a source',
      description: 'Other sources with the same provider have the same links.',
      answer: { status: 200, description: 'Links, in the order of creation', schema: z.array(link) },
      handle: named => {
        const { discoveryUrl } = mustBeSource(documents.snapshot, named.params.id);
        return linksAt(documents.snapshot, issuerOf(discoveryUrl)).map(each => ({
          user: documents.owners.byId(each.owner)?.name ?? '',
          subject: each.subject,
          gives_administration: each.administrationBy !== null,
          created_at: isoTime(each.createdAt),
        }));
      },
    }),
    putRoute('linkUser', `${one}/links/{user}`, {
      summary: 'Link a user to an account at the provider of a source',
      description: 'From then on, a sign-in with that subject at the provider is a sign-in of this user.',
      body: newLink,
      faults: [404, 409],
      mustBe: named => {
        mustBeSource(documents.snapshot, named.id);
        knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'The user is linked' },
      handle: async ({ params: { id, user }, body: { subject } }, { change }) => {
        await change(transaction => {
          const issuer = issuerOf(mustBeSource(transaction.changes, id).discoveryUrl);
          putLink(transaction.changes, transaction.mustBeOwner(user), { issuer, subject }, now());
        });
      },
    }),
    deleteRoute('unlinkUser', `${one}/links/{user}`, {
      summary: 'Unlink a user from the account at the provider of a source',
      description:
        'The next sign-in with that subject is treated like the first one. If a source made the user an ' +
        'administrator, ends.',
      answer: { status: 204, description: 'It is gone' },
      handle: ({ params: { id, user } }, { change }) => change(transaction => unlink(transaction, id, user)),
    }),
    postRoute('trySourceDraft', `${path}/try`, {
      summary: 'Show what claims would change with a source that is not saved',
      description: 'Changes nothing.',
      access: administrators.read,
      body: triedSource,
      answer: { status: 200, description: 'The effect on the user', schema: triedSynchronization },
      handle: ({ body: { source, user, claims } }) => {
        const draft = draftSource(documents.snapshot, wantedSource(source), now());
        return tryClaims(documents, draft, user ?? null, claims);
      },
    }),
    postRoute('trySource', `${one}/try`, {
      summary: 'Show what claims would change with a source',
      description: 'Changes nothing.',
      access: administrators.read,
      body: triedClaims,
      mustBe,
      answer: { status: 200, description: 'The effect on the user', schema: triedSynchronization },
      handle: ({ params: { id }, body: { user, claims } }) =>
        tryClaims(documents, mustBeSource(documents.snapshot, id), user ?? null, claims),
    }),
    postRoute('synchronizeUser', `${one}/claims`, {
      summary: "Synchronize a user's quota groups from claims",
      description:
        'It does the same as a sign-in, in one change with one event, but makes nobody an administrator. With `[users] ' +
        'AUTO_CREATE = true` an unknown user is created.',
      body: claimed,
      faults: [404, 409],
      mustBe,
      answer: { status: 200, description: 'The effect on the user', schema: synchronization },
      handle: ({ params: { id }, body: { user, claims } }, { caller }) => {
        const { name: source } = mustBeSource(documents.snapshot, id);
        const asked = { user, source, claims, isTrial: false };
        return synchronizeClaimed({ documents, autoCreate, log }, asked, caller);
      },
    }),
    getRoute('listSignInSources', '/sign-in/sources', {
      summary: 'The sources that users can sign in with',
      access: 'anybody',
      answer: { status: 200, description: 'The active sources', schema: z.array(offeredSource) },
      handle: () => [...signIn.offered()],
    }),
  ];
}

const secretStates = { none: 'none', known: 'set', lost: 'unreadable' } as const;

/** Throws `invalid` with the places of a mapping's faults. */
function wantedSource(body: NewSource): WantedSource {
  const { name, openid_connect_auto_discovery_url: discoveryUrl, client_id: clientId } = body;
  return { ...editIn(body), name, discoveryUrl, clientId };
}

/**
 * Null is as good as left out, an empty text takes out what may be missing. Throws as `wantedSource` does.
 */
function editIn(body: SourceEdit): Partial<SourceFields> {
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

/** Null: none is given. */
function mappingOf(value: unknown): SourceFields['mapping'] | null {
  if (value === undefined || value === null) return null;
  const mapped = mappingIn(value);
  if (mapped.ok) return mapped.mapping;
  const faults = mapped.faults.map(fault => `quota_group_map: ${fault}`);
  throw new SoftquotaError('invalid', printable(FaultList.of(faults).toString()));
}
