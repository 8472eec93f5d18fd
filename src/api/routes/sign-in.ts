/** `/sign-in/sources`: what the sign-in page offers. */

import { z } from 'zod';
import { offeredSource } from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

export function signInRoutes({ signIn }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'listSignInSources',
      path: '/sign-in/sources',
      tag: 'sources',
      summary: 'The sources that users can sign in with',
      access: 'anybody',
      answer: { status: 200, description: 'The active sources', schema: z.array(offeredSource) },
      handle: () => [...signIn.offered()],
    }),
  ];
}
