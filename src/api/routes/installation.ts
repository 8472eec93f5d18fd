/** Faults of the installation, and a backup of it. */

import { z } from 'zod';
import { finding } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

export function installationRoutes({ findings, backup }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'listFindings',
      path: '/admin/quota/findings',
      tag: 'operation',
      summary: 'The problems of this installation, the worst first',
      answer: { status: 200, description: 'Findings', schema: z.array(finding).readonly() },
      handle: () => findings(),
    }),
    route({
      id: 'takeBackup',
      path: '/admin/backup',
      tag: 'operation',
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
