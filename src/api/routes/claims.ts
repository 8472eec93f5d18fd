/** The effect of claims on a user's quota groups, tried or made. */

import { z } from 'zod';
import { draftSource, mustBeSource, synchronizeClaimed, tryClaims } from '../../oauth/index.ts';
import {
  claimed,
  mark,
  synchronization,
  triedClaims,
  triedSource,
  triedSynchronization,
} from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { wantedSource } from './source-fields.ts';

const path = '/admin/auths';
const params = z.object({ id: mark });

export function claimRoutes({ documents, log, autoCreate, now }: ApiServices): readonly Route[] {
  const mustBe = ({ id }: { readonly id: string }) => void mustBeSource(documents.snapshot, id);
  return [
    postRoute({
      id: 'trySourceDraft',
      path: `${path}/try`,
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
    postRoute({
      id: 'trySource',
      path: `${path}/{id}/try`,
      summary: 'Show what claims would change with a source',
      description: 'Changes nothing.',
      access: administrators.read,
      params,
      body: triedClaims,
      mustBe,
      answer: { status: 200, description: 'The effect on the user', schema: triedSynchronization },
      handle: ({ params: { id }, body: { user, claims } }) =>
        tryClaims(documents, mustBeSource(documents.snapshot, id), user ?? null, claims),
    }),
    postRoute({
      id: 'synchronizeUser',
      path: `${path}/{id}/claims`,
      summary: "Synchronize a user's quota groups from claims",
      description:
        'It does the same as a sign-in, in one change with one event, but makes nobody an administrator. With `[users] ' +
        'AUTO_CREATE = true` an unknown user is created.',
      params,
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
  ];
}
