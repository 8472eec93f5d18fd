/** `softquota doctor`: what is wrong with this installation, each with the line that mends it. */

import type { Command } from 'commander';
import { loadConfig } from '../config/index.ts';
import type { Examination } from '../doctor/index.ts';
import { exitCodes } from '../errors.ts';
import { hookConfPath } from '../githooks/index.ts';
import { adminClient, gateClient } from './client.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { type ConfigOption, whereIs, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';

interface DoctorOptions extends ConfigOption {
  readonly json?: boolean;
}

export function addDoctor(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('doctor')))
    .summary('tell what is wrong with this installation')
    .description(
      'Looks at everything between a push and an answer, and says what is wrong and how to mend it: the line\n' +
        'below each finding can be followed as it stands. Run it as root, to have all of it looked at.',
    )
    .addHelpText(
      'after',
      '\nExit status: 0 nothing is wrong (there may be notices), 1 something is. docs/doctor.md has every code.',
    )
    .action(async (options: DoctorOptions) => {
      const { examine } = await import('../doctor/index.ts');
      const where = whereIs(options);
      const examination = await examine({
        loaded: loadConfig(where),
        clients: ({ config }) => ({
          admin: path => adminClient(() => config).ask({ path }),
          gate: path => gateClient(config).ask({ path }),
        }),
        machine: { uid: where.uid, configOption: options.config ?? null, hookConf: hookConfPath },
      });
      if (options.json === true) printJson(examination.findings);
      else print(text(examination));
      const isWrong = examination.findings.some(({ severity }) => severity === 'wrong');
      exit(isWrong ? exitCodes.refused : exitCodes.done);
    });
}

function text({ findings, checked }: Examination): string {
  const told = findings.map(
    ({ code, severity, message, mend }) =>
      `${severity} (${code}): ${message}\n${mend === '' ? '' : `    ${mend}\n`}`,
  );
  if (findings.some(({ severity }) => severity === 'wrong')) return told.join('');
  const looked = checked.map(line => `    ${line}\n`);
  return [...told, 'Nothing is wrong.\nLooked at:\n', ...looked].join('');
}
