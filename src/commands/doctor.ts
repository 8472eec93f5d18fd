/** `softquota doctor`: finds the problems of this installation, each with its fix. */

import type { Command } from 'commander';
import type { Examination } from '../doctor/index.ts';
import { exitCodes } from '../errors.ts';
import { given } from '../given.ts';
import { runJob } from './job.ts';
import { printJson } from './output.ts';
import { type CommonOptions, type Exit, withCommonOptions, wrapped } from './settings.ts';
import { print } from './streams.ts';

export function addDoctor(program: Command, exit: Exit): void {
  withCommonOptions(program.command('doctor'))
    .summary('find problems of this installation')
    .description(
      'Checks everything that a push needs, and shows each problem with its fix: you can run the command below a ' +
        'problem as it is. Run doctor as root, so that it can check everything. If a disk does not answer, ' +
        'doctor names it and checks everything else.',
    )
    .addHelpText(
      'after',
      wrapped(
        '\nExit status: 0 no problems (there may be notices), 1 problems found. docs/doctor.md explains every code.',
      ),
    )
    .action(async (options: CommonOptions) => {
      const { withHangs } = await import('../doctor/index.ts');
      const job = { job: 'doctor', options: given({ config: options.config }) } as const;
      const examination = withHangs(await runJob<Examination>(job));
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
  const isPart = findings.some(({ code }) => code === 'not_looked');
  const verdict = isPart ? 'No problems found in what this user may look at.' : 'No problems found.';
  return [...told, `${verdict}\nChecked:\n`, ...looked].join('');
}
