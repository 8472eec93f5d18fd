/** `softquota doctor`: what is wrong with this installation, each with the line that mends it. */

import type { Command } from 'commander';
import type { Examination } from '../doctor/index.ts';
import { exitCodes } from '../errors.ts';
import type { Exit } from './exit.ts';
import { type Job, type JobTimes, runJob } from './job.ts';
import { printJson } from './output.ts';
import { type ConfigOption, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';

interface DoctorOptions extends ConfigOption {
  readonly json?: boolean;
}

const times: JobTimes = { stuckMs: 10_000, wholeMs: 90_000 };

export function addDoctor(program: Command, exit: Exit): void {
  withJsonOption(withConfigOption(program.command('doctor')))
    .summary('tell what is wrong with this installation')
    .description(
      'Looks at everything between a push and an answer, and says what is wrong and how to mend it: the line\n' +
        'below each finding can be followed as it stands. Run it as root, to have all of it looked at. A disk that\n' +
        'does not answer is named, and all else is looked at.',
    )
    .addHelpText(
      'after',
      '\nExit status: 0 nothing is wrong (there may be notices), 1 something is. docs/doctor.md has every code.',
    )
    .action(async (options: DoctorOptions) => {
      const { withHangs } = await import('../doctor/index.ts');
      const { config } = options;
      const job: Job = { job: 'doctor', options: config === undefined ? {} : { config } };
      const examination = withHangs(await runJob<Examination>(job, times));
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
