/** `softquota health`: checks whether the gate answers, for a supervisor or a container. */

import type { Command } from 'commander';
import { z } from 'zod';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { gateClient } from './client.ts';
import { printJson } from './output.ts';
import { type CommonOptions, configFrom, type Exit, withCommonOptions, wrapped } from './settings.ts';
import { print } from './streams.ts';

interface HealthOptions extends CommonOptions {
  readonly ready?: boolean;
}

const answer = z.object({ status: z.string(), reasons: z.array(z.string()) });

type Answer = z.infer<typeof answer>;

export function addHealth(program: Command, exit: Exit): void {
  withCommonOptions(program.command('health'))
    .summary('check whether the daemon answers')
    .description(
      'Asks the gate for its health, as a supervisor or a container does. A daemon that answers is alive, even ' +
        'if its figures are not reliable yet; --ready checks the figures, too.',
    )
    .option('--ready', 'also check whether its answers are reliable')
    .addHelpText('after', wrapped('\nExit status: 0 healthy, 1 not healthy, or no answer.'))
    .action(async (options: HealthOptions) => {
      const found = await ask(options);
      if (options.json === true) printJson(found);
      else print(`${[found.status, ...found.reasons].map(printable).join('\n')}\n`);
      exit(found.status === 'ok' ? exitCodes.done : exitCodes.refused);
    });
}

async function ask(options: HealthOptions): Promise<Answer> {
  const client = gateClient(configFrom(options));
  try {
    const { json } = await client.ask({ path: options.ready === true ? '/readyz' : '/healthz' });
    return answer.parse(json);
  } catch (error) {
    // The caller asks for a yes or a no, so an error is an answer here, not a failure.
    if (error instanceof SoftquotaError) return { status: 'no answer', reasons: [error.message] };
    if (error instanceof z.ZodError)
      return { status: 'no answer', reasons: ['the answer is not from a gate'] };
    throw error;
  }
}
