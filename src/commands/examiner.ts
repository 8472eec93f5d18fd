/**
 * Run by itself, by `softquota doctor`: makes the examination, and tells on descriptor 3 where it looks at
 * the disk.
 *
 * In: an `ExaminerOrder` as JSON, its argument. Out: the examination as JSON. Exit: 0; else it could not be
 * made.
 */

import { loadConfig } from '../config/index.ts';
import { examine, tellLooks } from '../doctor/index.ts';
import { hookConfPath } from '../githooks/index.ts';
import { adminClient, gateClient } from './client.ts';
import { type ConfigOption, whereIs } from './settings.ts';

export interface ExaminerOrder {
  readonly options: ConfigOption;
  /** The directories below which disks do not answer. */
  readonly avoided: readonly string[];
}

const [, , order = ''] = process.argv;
// Only the command gives it.
const { options, avoided } = JSON.parse(order) as ExaminerOrder;
tellLooks(3, avoided);
const where = whereIs(options);
const examination = await examine({
  loaded: loadConfig(where),
  clients: ({ config }) => ({
    admin: path => adminClient(() => config).ask({ path }),
    gate: path => gateClient(config).ask({ path }),
  }),
  machine: { uid: where.uid, configOption: options.config ?? null, hookConf: hookConfPath },
});
process.stdout.write(JSON.stringify(examination));
