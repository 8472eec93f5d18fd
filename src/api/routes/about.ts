/** `/version` and `/openapi.json`, which need no token. */

import { z } from 'zod';
import { version } from '../../version.ts';
import { versionReport } from '../../wire/index.ts';
import { type Route, route } from '../route.ts';

export const aboutRoutes: readonly Route[] = [
  route({
    id: 'getVersion',
    path: '/version',
    tag: 'about',
    summary: 'The version of softquota',
    access: 'anybody',
    answer: { status: 200, description: 'The version', schema: versionReport },
    handle: () => ({ version }),
  }),
  route({
    id: 'getDescription',
    path: '/openapi.json',
    tag: 'about',
    summary: 'This description',
    access: 'anybody',
    answer: {
      status: 200,
      description: 'An OpenAPI 3.1 document',
      schema: z.looseObject({ openapi: z.string().meta({ description: 'The version of OpenAPI.' }) }),
    },
    handle: async () => (await import('../../../docs/openapi.json', { with: { type: 'json' } })).default,
  }),
];
