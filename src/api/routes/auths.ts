/** `/admin/auths`: OAuth2 sources; `/sign-in/sources`: those that the sign-in page offers. */

import { z } from 'zod';
import {
  clientSecretOf,
  createSource,
  deleteSource,
  editSource,
  mustBeSource,
  type SourceDocument,
  sourceShown,
  sourcesIn,
  unknownQuotaGroups,
} from '../../oauth/index.ts';
import {
  mark,
  newSource,
  offeredSource,
  type Source,
  savedSource,
  source,
  sourceEdit,
} from '../../wire/index.ts';
import { deleteRoute, getRoute, patchRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { editIn, wantedSource } from './source-fields.ts';

const path = '/admin/auths';
const one = { path: `${path}/{id}`, params: z.object({ id: mark }) } as const;

export function authRoutes({ documents, secretKeys: keys, signIn, now }: ApiServices): readonly Route[] {
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
  return [
    getRoute({
      id: 'listSources',
      path,
      summary: 'OAuth2 sources, in the order of creation',
      answer: { status: 200, description: 'Sources', schema: z.array(source) },
      handle: () => sourcesIn(documents.snapshot).map(shown),
    }),
    postRoute({
      id: 'createSource',
      path,
      summary: 'Create an OAuth2 source',
      description:
        'The source is saved even if the provider cannot be reached; `warning` then has the reason. Enter `redirect_uri` of ' +
        'the answer at the provider.',
      body: newSource,
      faults: [409],
      answer: { status: 201, description: 'The source', schema: savedSource },
      handle: async ({ body }, { caller }) => {
        const wanted = wantedSource(body);
        const making = { keys, now: now() };
        return saved(
          await documents.transact(({ changes }) => createSource(changes, wanted, making), caller),
        );
      },
    }),
    getRoute({
      id: 'getSource',
      ...one,
      summary: 'One OAuth2 source',
      answer: { status: 200, description: 'The source', schema: source },
      handle: named => shown(mustBeSource(documents.snapshot, named.params.id)),
    }),
    patchRoute({
      id: 'editSource',
      ...one,
      summary: 'Change an OAuth2 source',
      description:
        'If the source is no longer active, or has another provider, its users are signed out. Users whom it made administrators ' +
        'lose these rights then, and also if it looks for another group.',
      body: sourceEdit,
      faults: [404, 409],
      mustBe: ({ id }) => void mustBeSource(documents.snapshot, id),
      answer: { status: 200, description: 'The source as it is now', schema: savedSource },
      handle: async (named, { caller }) => {
        const edit = editIn(named.body);
        const { id } = named.params;
        const making = { keys, now: now() };
        return saved(
          await documents.transact(transaction => editSource(transaction, id, edit, making), caller),
        );
      },
    }),
    deleteRoute({
      id: 'deleteSource',
      ...one,
      summary: 'Delete an OAuth2 source',
      description:
        'Users whom it made administrators lose these rights, and its users are signed out. Links stay: another source ' +
        'with the same provider uses them.',
      answer: { status: 204, description: 'It is gone' },
      handle: (named, { caller }) =>
        documents.transact(transaction => deleteSource(transaction, named.params.id), caller),
    }),
  ];
}

const secretStates = { none: 'none', known: 'set', lost: 'unreadable' } as const;

export function signInRoutes({ signIn }: ApiServices): readonly Route[] {
  return [
    getRoute({
      id: 'listSignInSources',
      path: '/sign-in/sources',
      summary: 'The sources that users can sign in with',
      access: 'anybody',
      answer: { status: 200, description: 'The active sources', schema: z.array(offeredSource) },
      handle: () => [...signIn.offered()],
    }),
  ];
}
