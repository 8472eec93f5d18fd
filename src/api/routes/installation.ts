/**
 * Problems of the installation, a backup of it, and what anybody may know: the version and the API's
 * description.
 */

import { z } from 'zod';
import { version } from '../../version.ts';
import { finding, versionReport } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { getRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';

export function installationRoutes({ findings, backup }: ApiServices): readonly Route[] {
  return [
    getRoute({
      id: 'listFindings',
      path: '/admin/quota/findings',
      summary: 'The problems of this installation, the worst first',
      answer: { status: 200, description: 'Findings', schema: z.array(finding).readonly() },
      handle: () => findings(),
    }),
    getRoute({
      id: 'takeBackup',
      path: '/admin/backup',
      summary: 'A backup of everything that cannot be measured again',
      description:
        'For `softquota restore`. It contains the hashes of tokens, so reading it needs a write scope.',
      access: administrators.write,
      answer: {
        status: 200,
        description: 'A backup',
        schema: z.looseObject({
          softquota: z.literal('backup').meta({ description: 'Marks the document.' }),
        }),
      },
      handle: async () => ({ ...(await backup()) }),
    }),
  ];
}

export const aboutRoutes = (): readonly Route[] => [
  getRoute({
    id: 'getVersion',
    path: '/version',
    summary: 'The version of softquota',
    access: 'anybody',
    answer: { status: 200, description: 'The version', schema: versionReport },
    handle: () => ({ version }),
  }),
  getRoute({
    id: 'getDescription',
    path: '/openapi.json',
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
