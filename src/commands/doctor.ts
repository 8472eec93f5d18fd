/** `softquota doctor`: finds the problems of this installation, each with its fix. */

import { loadConfig } from '../config/index.ts';
import type { Examination } from '../doctor/index.ts';
import { exitCodes } from '../errors.ts';
import { given } from '../given.ts';
import { apiCommand } from './api-command.ts';
import { adminClient, gateClient } from './client.ts';
import { runJob } from './job.ts';
import { type ConfigOption, whereIs } from './settings.ts';

export const addDoctor = apiCommand<Examination>('doctor', {
  summary: 'find problems of this installation',
  description:
    'Checks everything that a push needs, and shows each problem with its fix: you can run the command below a ' +
    'problem as it is. Run doctor as root, so that it can check everything. If a disk does not answer, ' +
    'doctor names it and checks everything else.',
  after:
    '\nExit status: 0 no problems (there may be notices), 1 problems found. docs/doctor.md explains every code.',
  find: async ({ config }) => {
    const { withHangs } = await import('../doctor/index.ts');
    return withHangs(await runJob<Examination>({ job: 'doctor', options: given({ config }) }));
  },
  json: ({ findings }) => findings,
  text,
  status: ({ findings }) =>
    findings.some(({ severity }) => severity === 'wrong') ? exitCodes.refused : exitCodes.done,
});

function text({ findings, checked }: Examination): string {
  const told = findings.map(
    ({ code, severity, message, mend }) =>
      `${severity} (${code}): ${message}\n${mend === '' ? '' : `    ${mend}\n`}`,
  );
  if (findings.some(({ severity }) => severity === 'wrong')) return told.join('');
  const looked = checked.map(line => `    ${line}\n`);
  const isPart = findings.some(({ code }) => code === 'not_looked');
  const verdict = isPart ? 'No problems found in what this user may look at.' : 'No problems found.';
  return [...told, `${verdict}\nChecked:\n`, ...looked].join('');
}

/** Does the work of `softquota doctor`, in a process of its own. */
export async function examination(options: ConfigOption): Promise<Examination> {
  const [{ examine }, { hookConfPath }] = await Promise.all([
    import('../doctor/index.ts'),
    import('../git/index.ts'),
  ]);
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
