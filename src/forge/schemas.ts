/** The schema of each kind of forge. */

import { gogsAttachments } from './app-ini.ts';
import type { ForgeSchema } from './forge-schema.ts';
import { giteaSchema } from './gitea.ts';
import { gitlabSchema } from './gitlab/schema.ts';
import { gogsSchema } from './gogs.ts';
import type { ForgeSettings } from './settings.ts';

export function schemaOf(
  { kind, configFile, ownerLevel }: ForgeSettings,
  env: NodeJS.ProcessEnv,
): ForgeSchema {
  switch (kind) {
    case 'gitea':
    case 'forgejo':
      return giteaSchema();
    case 'gogs':
      return gogsSchema(() => gogsAttachments(configFile, env));
    case 'gitlab':
      return gitlabSchema(ownerLevel);
  }
}
