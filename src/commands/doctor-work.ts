/** The work of `softquota doctor`, which a process of its own does. */

import { loadConfig } from '../config/index.ts';
import { type Examination, examine } from '../doctor/index.ts';
import { hookConfPath } from '../git/index.ts';
import { adminClient, gateClient } from './client.ts';
import { type ConfigOption, whereIs } from './settings.ts';

export function examination(options: ConfigOption): Promise<Examination> {
  const where = whereIs(options);
  return examine({
    loaded: loadConfig(where),
    clients: ({ config }) => ({
      admin: path => adminClient(() => config).ask({ path }),
      gate: path => gateClient(config).ask({ path }),
    }),
    context: { uid: where.uid, configOption: options.config ?? null, hookConf: hookConfPath },
  });
}
